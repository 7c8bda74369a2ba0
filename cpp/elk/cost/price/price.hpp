#pragma once

#include <cstdint>
#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/cost/option.hpp"
#include "elk/cost/price/pricer.hpp"
#include "elk/ir/graph.hpp"
#include "elk/partition/plan.hpp"
#include "elk/tile/tile.hpp"

namespace elk::cost {

/// Costs of one given plan, as `front` would give them.
[[nodiscard]] PlanOption price(const ir::Graph& graph, const ir::Op& op,
                               const partition::ExecutePlan& plan, const chip::Chip& chip,
                               const tile::TileModel& tiles);

/// `price` of a valid plan, with the memos of `pricer`, which is of the same op and chip.
[[nodiscard]] PlanOption price(const ir::Graph& graph, const ir::Op& op,
                               const partition::ExecutePlan& plan, const chip::Chip& chip,
                               Pricer& pricer);

/// An op with a plan, but for what it reads from HBM: no states and no HBM bytes.
[[nodiscard]] PlanOption price_execute(const ir::Graph& graph, const ir::Op& op,
                                       const partition::ExecutePlan& plan, Pricer& pricer);

}  // namespace elk::cost
