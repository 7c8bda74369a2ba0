#pragma once

#include "elk/cost/front.hpp"
#include "elk/cost/pricer.hpp"

namespace elk::cost {

/// `price` of a valid plan, with the memos of `pricer`, which is of the same op and chip.
[[nodiscard]] PlanOption price(const ir::Graph& graph, const ir::Op& op,
                               const partition::ExecutePlan& plan, const chip::Chip& chip,
                               Pricer& pricer);

}  // namespace elk::cost
