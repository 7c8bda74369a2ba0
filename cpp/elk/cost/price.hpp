#pragma once

#include "elk/cost/front.hpp"
#include "elk/cost/pricer.hpp"
#include "elk/cost/rate.hpp"
#include "elk/cost/trail.hpp"

namespace elk::cost {

/// `price` of a valid plan, with the memos of `pricer`, which is of the same op and chip.
[[nodiscard]] PlanOption price(const ir::Graph& graph, const ir::Op& op,
                               const partition::ExecutePlan& plan, const chip::Chip& chip,
                               Pricer& pricer);

/// The same but for what it reads from HBM: no states and no HBM bytes.
[[nodiscard]] PlanOption price_execute(const ir::Graph& graph, const ir::Op& op,
                                       const partition::ExecutePlan& plan, Pricer& pricer);

/// `front` of an op that is no collective, with the memos of `pricer` and the rates of its tiles.
/// `earlier`: what the same left that differs at most in the rate of the HBM, or null; `left`:
/// where to leave that, or null.
[[nodiscard]] Front front(Pricer& pricer, Rates rates, const Constraints& constraints,
                          const Searched* earlier, Searched* left);

}  // namespace elk::cost
