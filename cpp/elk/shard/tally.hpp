#pragma once

#include <vector>

#include "elk/shard/shard.hpp"

namespace elk::shard {

/// The sums of a sharding that computes each op by one of its parts and moves tensors in between;
/// slices among the moves count, and are left to `one_chip`.
[[nodiscard]] Sharding tally(const ShardingCosts& ways, const std::vector<const SplitCost*>& chosen,
                             const std::vector<Collective>& moves);

}  // namespace elk::shard
