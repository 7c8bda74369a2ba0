#pragma once

#include "elk/chip/chip.hpp"
#include "elk/cost/option.hpp"
#include "elk/ir/graph.hpp"
#include "elk/tile/tile.hpp"

namespace elk::schedule {

/// Whether shifts, reductions and distributions are counted link by link: on small grids all of
/// them, on larger ones those that cross chips in a mesh or ring.
[[nodiscard]] bool counts_exchanges(const chip::Chip& chip);

/// Sets what the shifts, the reductions and the distributions of a plan take there, from the
/// program's sends. The cost of a cut has a closed form for neighbours in a line, and of a pod
/// what comes into the busiest chip, not what passes others on its way.
void settle_exchanges(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
                      const tile::TileModel& tiles, cost::PlanOption& option);

}  // namespace elk::schedule
