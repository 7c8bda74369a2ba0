#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elk/chip/chip.hpp"

namespace elk::cost {

/// Bytes over every directed link of the chips' grids, each of its own; a ring is one row that
/// wraps.
///
/// Dimension order: the tree from a core to others runs along its row as far as the outermost
/// columns of theirs, and in each of their columns from that row as far as the outermost of them;
/// or along the column first. So a tree is a run of links on each line that it uses, and a run adds
/// to the first difference of the loads of its line in two places: the loads are the prefix sums.
/// On a torus the shorter way round, forwards if both are equally long.
class LinkLoads {
 public:
  explicit LinkLoads(const chip::Chip& chip);

  /// One tree that carries `bytes` from a core to all of `to` on its chip.
  void add(std::int32_t from, std::span<const std::int32_t> to, bool row_first, std::int64_t bytes);

  /// Of each link: first those along rows, forwards then backwards, then those along columns; of
  /// each of these chip by chip.
  [[nodiscard]] std::vector<std::int64_t> loads() const;
  [[nodiscard]] std::int64_t busiest() const;
  /// Links of the longest way so far.
  [[nodiscard]] std::int64_t hops() const { return hops_; }

 private:
  /// Steps from a place on a line, forwards and backwards.
  struct Reach {
    std::int64_t ahead = 0;
    std::int64_t back = 0;

    void extend(std::int64_t steps);
  };

  /// All lines of one dimension; line by line the first differences, one more than there are links.
  struct Lines {
    std::int64_t count;  // of one chip
    std::int64_t length;
    std::array<std::vector<std::int64_t>, 2> change;  // forwards, backwards
  };

  [[nodiscard]] std::int64_t steps(std::int64_t from, std::int64_t to, std::int64_t length) const;
  static void add_runs(Lines& lines, std::int64_t line, std::int64_t place, const Reach& reach,
                       std::int64_t bytes);

  bool wraps_;
  std::int64_t chips_;
  std::array<Lines, 2> lines_;                      // rows, columns
  std::vector<std::array<std::int64_t, 2>> place_;  // of each core of a chip: its row, its column
  std::vector<Reach> reach_;                        // of each line across, of the tree at hand
  std::vector<char> reached_;
  std::int64_t hops_ = 0;
};

}  // namespace elk::cost
