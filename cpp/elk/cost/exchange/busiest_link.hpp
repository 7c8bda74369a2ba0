#pragma once

#include <cstdint>

#include "elk/base/memo.hpp"
#include "elk/chip/chip.hpp"

namespace elk::cost {

/// Cores of a grid from its first corner on, numbered row by row; on a ring, one row.
struct Rectangle {
  std::int64_t rows;
  std::int64_t cols;
};

/// How many messages of one size pass the busiest link of one chip's grid under dimension-order
/// routing, rows first (`LinkLoads`), without going through the messages.
///
/// On a mesh the counts are exact where the receivers fill whole rows, and where a row has a power
/// of two of cores that exchange in pairs; elsewhere they are no more than the true ones, so that a
/// lower bound may rest on them. Not shared between threads.
class BusiestLink {
 public:
  explicit BusiestLink(const chip::Chip& chip);

  /// Every core sends one message to each of the first `receivers` but itself.
  [[nodiscard]] std::int64_t to_each(const Rectangle& cores, std::int64_t receivers);
  /// Every core sends one message to all others at once, over a tree.
  [[nodiscard]] std::int64_t to_all(const Rectangle& cores) const;
  /// Cores whose numbers differ in the bit `level` exchange.
  [[nodiscard]] std::int64_t in_pairs(const Rectangle& cores, std::int64_t level) const;
  /// Each of the `others` next to the first core sends it a message, or receives one from it.
  [[nodiscard]] std::int64_t to_first(const Rectangle& cores, std::int64_t others) const;
  [[nodiscard]] std::int64_t from_first(const Rectangle& cores, std::int64_t others) const;

  /// Links of the longest way within the cores.
  [[nodiscard]] std::int64_t hops(const Rectangle& cores) const;
  /// Links between the first core and the one with which it exchanges.
  [[nodiscard]] std::int64_t hops_in_pairs(const Rectangle& cores, std::int64_t level) const;
  /// Links between the first core and the farthest of the `others` next to it.
  [[nodiscard]] std::int64_t hops_of_first(const Rectangle& cores, std::int64_t others) const;

 private:
  /// Cores of one line that wraps if it has a length, 0: it has two ends.
  struct Line {
    std::int64_t cores;
    std::int64_t wraps;
  };

  [[nodiscard]] Line row(const Rectangle& cores) const { return {cores.cols, row_wraps_}; }
  [[nodiscard]] Line column(const Rectangle& cores) const { return {cores.rows, column_wraps_}; }
  [[nodiscard]] std::int64_t to_each(const Line& line, std::int64_t receivers);
  [[nodiscard]] static std::int64_t to_all(const Line& line);
  [[nodiscard]] static std::int64_t longest(const Line& line);
  [[nodiscard]] static std::int64_t steps(std::int64_t distance, const Line& line);
  [[nodiscard]] static std::int64_t either_way(std::int64_t messages, const Line& line);

  std::int64_t row_wraps_ = 0;
  std::int64_t column_wraps_ = 0;
  Memo<std::int64_t> wrapped_;  // `to_each` of lines that wrap
};

}  // namespace elk::cost
