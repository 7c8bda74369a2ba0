#pragma once

#include "elk/chip/chip.hpp"
#include "elk/cost/front.hpp"
#include "elk/cost/tile.hpp"
#include "elk/ir/graph.hpp"

namespace elk::schedule {

/// Whether what chips exchange passes links that lead from chip to chip over a grid or a ring.
[[nodiscard]] bool passes_chips(const chip::Chip& chip);

/// Sets what the shifts, the reductions and the distributions of a plan take on such a pod of
/// grids. The cost of a cut knows what comes into the busiest chip; what only passes through a chip
/// on its way is counted here, from the program's sends.
void settle_exchanges(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
                      const cost::TileModel& tiles, cost::PlanOption& option);

}  // namespace elk::schedule
