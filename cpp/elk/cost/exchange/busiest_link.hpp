#pragma once

#include <cstddef>
#include <cstdint>

#include "elk/base/memo.hpp"
#include "elk/chip/chip.hpp"

namespace elk::cost {

/// How many messages of one size pass the busiest link, or port, of one chip whose cores lie in
/// lines under dimension-order routing, rows first (`LinkLoads`), without going through the
/// messages. `cores`: the sides of a box of cores from the first corner of the chip on, which are
/// numbered with the innermost dimension fastest.
///
/// On a mesh the counts are exact where the receivers fill whole rows, and where a row has a power
/// of two of cores that exchange in pairs; elsewhere they are no more than the true ones, so that a
/// lower bound may rest on them. Not shared between threads.
class BusiestLink {
 public:
  explicit BusiestLink(const chip::Chip& chip);

  /// Every core sends one message to each of the first `receivers` but itself.
  [[nodiscard]] std::int64_t to_each(const chip::PerDim& cores, std::int64_t receivers);
  /// Every core sends one message to all others at once, over a tree.
  [[nodiscard]] std::int64_t to_all(const chip::PerDim& cores) const;
  /// Cores whose numbers differ in the bit `level` exchange.
  [[nodiscard]] std::int64_t in_pairs(const chip::PerDim& cores, std::int64_t level) const;
  /// Each of the `others` next to the first core sends it a message, or receives one from it.
  [[nodiscard]] std::int64_t to_first(const chip::PerDim& cores, std::int64_t others) const;
  [[nodiscard]] std::int64_t from_first(const chip::PerDim& cores, std::int64_t others) const;

  /// Links of the longest way within the cores.
  [[nodiscard]] std::int64_t hops(const chip::PerDim& cores) const;
  /// Links between the first core and the one with which it exchanges.
  [[nodiscard]] std::int64_t hops_in_pairs(const chip::PerDim& cores, std::int64_t level) const;
  /// Links between the first core and the farthest of the `others` next to it.
  [[nodiscard]] std::int64_t hops_of_first(const chip::PerDim& cores, std::int64_t others) const;

 private:
  /// Cores of one line that wraps if it has a length, 0: it has two ends. A full one has ports.
  struct CoreLine {
    std::int64_t cores;
    std::int64_t wraps;
    bool full;
  };

  [[nodiscard]] CoreLine line(const chip::PerDim& cores, std::size_t dim) const;
  [[nodiscard]] std::int64_t to_each(const CoreLine& line, std::int64_t receivers);
  [[nodiscard]] static std::int64_t to_all(const CoreLine& line);
  [[nodiscard]] static std::int64_t longest(const CoreLine& line);
  [[nodiscard]] static std::int64_t steps(std::int64_t distance, const CoreLine& line);
  [[nodiscard]] static std::int64_t either_way(std::int64_t messages, const CoreLine& line);

  chip::Network network_;
  Memo<std::int64_t> wrapped_;  // `to_each` of lines that wrap
};

}  // namespace elk::cost
