#pragma once

#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/shard/shard.hpp"
#include "elk/shard/split_cost.hpp"

namespace elk::shard {

/// The fastest sharding of which each chip holds what it keeps: in its HBM, or, without, in its
/// SRAM beside the busiest op. Where the fastest of all keeps too much, bytes are given a price,
/// the lowest that a search by doubling and halving finds to help. If none fits, that which keeps
/// least.
[[nodiscard]] Sharding shard(const ir::Graph& graph, const chip::Chip& chip,
                             const ExecuteTime& execute, int threads);

/// The fastest sharding first, then simpler ones that a full plan may prefer, since an estimate is
/// no plan: the fastest without any exchange between chips, and every op on every chip. Each once.
[[nodiscard]] std::vector<Sharding> proposals(const ir::Graph& graph, const chip::Chip& chip,
                                              const ExecuteTime& execute, int threads);

/// The sharding of which a chip keeps least, for models that fit in no faster way.
[[nodiscard]] Sharding leanest(const ir::Graph& graph, const chip::Chip& chip,
                               const ExecuteTime& execute, int threads);

}  // namespace elk::shard
