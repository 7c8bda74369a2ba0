#pragma once

#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/cost/front/front.hpp"
#include "elk/ir/graph.hpp"
#include "elk/partition/plan.hpp"
#include "elk/tile/tile.hpp"

namespace elk::cost {

/// Plans of an op that a front in (space, time, exchange, HBM bytes) need not keep and that take
/// less energy: on fewer cores, say, fewer copies of an operand are sent, and larger tiles read
/// theirs less often. Of cuts by factors some steps apart, with every operand whole, those that fit
/// a core, keep the constraints and are on the Pareto front of (time, joules) alone; by time. The
/// chip must have energy coefficients.
[[nodiscard]] std::vector<partition::ExecutePlan> thrifty_plans(const ir::Graph& graph,
                                                                const ir::Op& op,
                                                                const chip::Chip& chip,
                                                                const tile::TileModel& tiles,
                                                                const Constraints& constraints);

}  // namespace elk::cost
