#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "elk/emulate/memory/access.hpp"

namespace elk::emulate {

/// `count` elements that follow each other in two dense pieces.
struct SharedRun {
  std::int64_t from;  // number of the first element in one piece
  std::int64_t to;    // and in the other
  std::int64_t count;
};

/// Finds the elements that two pieces have in common, one pair of pieces after another.
class SharedRuns {
 public:
  /// The elements that both pieces have, in ascending order: of every dimension the common indices.
  /// The list is kept until the next call, and may be changed.
  std::vector<SharedRun>& between(const Held& from, const Held& to);

 private:
  /// A run of indices that both sets of a dimension have, as places in each of them.
  struct PlacedRun {
    std::int64_t from;
    std::int64_t to;
    std::int64_t count;
  };
  struct Level {
    std::size_t first;  // in `runs_`
    std::size_t last;
    std::int64_t from_length;
    std::int64_t to_length;
  };

  void add_runs(partition::IndexView from, partition::IndexView to);
  [[nodiscard]] bool is_whole(const Level& level) const;
  void descend(std::size_t depth, const SharedRun& outside);

  std::vector<PlacedRun> runs_;
  std::vector<Level> levels_;  // one for each dimension
  std::vector<SharedRun> found_;
  std::int64_t inner_ = 1;
};

/// How many elements runs have.
[[nodiscard]] std::int64_t count(std::span<const SharedRun> runs);

/// Calls `visit` for the runs of one pair alone. Returns how many elements there are.
std::int64_t for_each_shared_run(const Held& from, const Held& to,
                                 const std::function<void(const SharedRun&)>& visit);

/// The same as a list.
[[nodiscard]] std::vector<SharedRun> shared_runs(const Held& from, const Held& to);

}  // namespace elk::emulate
