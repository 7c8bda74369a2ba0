#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/sim/grid.hpp"
#include "elk/sim/network.hpp"

namespace elk::sim {

/// Counts what trees of ways over a grid carry: each link of a tree once, however many of its ways
/// pass it.
class Trees {
 public:
  explicit Trees(const Network& network);

  /// Adds `bytes` to the `amount` of every link of the tree from `from` to all of `to`, on one
  /// chip. Returns how many there are.
  std::int64_t add(CoreId from, std::span<const CoreId> to, Turn turn, std::int64_t bytes,
                   std::vector<std::int64_t>& amount);

  /// Hops of the longest way so far.
  [[nodiscard]] std::int64_t longest() const { return longest_; }

 private:
  const Network& network_;
  std::vector<std::int64_t> tree_of_;  // of each resource, the last that counted it
  std::int64_t tree_ = -1;
  std::int64_t longest_ = 0;
};

}  // namespace elk::sim
