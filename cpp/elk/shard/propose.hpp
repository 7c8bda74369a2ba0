#pragma once

#include <cstddef>
#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/shard/shard.hpp"
#include "elk/shard/split_cost.hpp"

/// The numbers by which `shard` was tuned: what each does, and how it was chosen. None is a rule of
/// the design or a limit of a type; a change of one changes plans or how long it takes to find
/// them.
namespace elk::shard::tuning {

// Prices of kept bytes (docs/decisions/pods.md).

/// Times that the price of a kept byte rises, each by eight, until what is kept fits. Chosen by
/// hand, not measured.
inline constexpr int kPriceRises = 12;

/// Times that a price which fits is then halved. Chosen by hand, not measured.
inline constexpr int kPriceHalvings = 4;

// Dynamic programming (docs/decisions/pods.md).

/// States before an op that are kept. Chosen by hand, not measured.
inline constexpr std::size_t kMostSurvivors = 64;

}  // namespace elk::shard::tuning

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
