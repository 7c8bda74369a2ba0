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
    links_.clear();
    longest_ = std::max(longest_, network_.links(from, core, turn, way_, links_));
    for (const ResourceId link : links_) {
      if (tree_of_[link.index()] != tree_) {
        tree_of_[link.index()] = tree_;
        amount[link.index()] += bytes;
        ++count;
      }
    }
  }
  return count;
}

}  // namespace elk::sim
