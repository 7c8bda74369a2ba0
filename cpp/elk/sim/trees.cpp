#include "elk/sim/trees.hpp"

#include <algorithm>

namespace elk::sim {

Trees::Trees(const Network& network)
    : network_(network), tree_of_(network.machine().resources.size(), -1) {}

std::int64_t Trees::add(CoreId from, std::span<const CoreId> to, Turn turn, std::int64_t bytes,
                        std::vector<std::int64_t>& amount) {
  ++tree_;
  std::int64_t count = 0;
  for (const CoreId core : to) {
    const std::int64_t hops = network_.links_back(from, core, turn, [&](ResourceId link) {
      if (tree_of_[link.index()] == tree_) {
        return false;  // So is the way to it.
      }
      tree_of_[link.index()] = tree_;
      amount[link.index()] += bytes;
      ++count;
      return true;
    });
    longest_ = std::max(longest_, hops);
  }
  return count;
}

}  // namespace elk::sim
