#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "elk/emulate/memory/access.hpp"

namespace elk::emulate {

/// `count` elements that follow each other in two dense pieces.
struct OverlapRange {
  std::int64_t from;  // number of the first element in one piece
  std::int64_t to;    // the first element in the other
  std::int64_t count;
};

/// Finds the elements that two pieces have in common, one pair of pieces after another.
class OverlapFinder {
 public:
  /// The elements that both pieces have, in ascending order: of every dimension the common indices.
  /// The list is kept until the next call, and may be changed.
  std::vector<OverlapRange>& between(const DensePiece& from, const DensePiece& to);

 private:
  /// A run of indices that both sets of a dimension have, as places in each of them.
  struct RangePlaces {
    std::int64_t from;
    std::int64_t to;
    std::int64_t count;
  };
  struct DimRanges {
    std::size_t first;  // in `runs_`
    std::size_t last;
    std::int64_t from_length;
    std::int64_t to_length;
  };

  void add_runs(partition::IndexView from, partition::IndexView to);
  [[nodiscard]] bool is_whole(const DimRanges& level) const;
  void descend(std::size_t depth, const OverlapRange& outside);

  std::vector<RangePlaces> runs_;
  std::vector<DimRanges> levels_;  // one for each dimension
  std::vector<OverlapRange> found_;
  std::int64_t inner_ = 1;
};

/// How many elements runs have.
[[nodiscard]] std::int64_t count(std::span<const OverlapRange> runs);

/// Calls `visit` for the runs of one pair alone. Returns how many elements there are.
std::int64_t for_each_shared_run(const DensePiece& from, const DensePiece& to,
                                 const std::function<void(const OverlapRange&)>& visit);

/// The elements that two pieces have in common, as a list.
[[nodiscard]] std::vector<OverlapRange> shared_runs(const DensePiece& from, const DensePiece& to);

}  // namespace elk::emulate
