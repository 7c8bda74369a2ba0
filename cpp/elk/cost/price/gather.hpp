#pragma once

#include <span>

#include "elk/chip/chip.hpp"
#include "elk/cost/exchange/exchange.hpp"
#include "elk/cost/option.hpp"
#include "elk/ir/graph.hpp"
#include "elk/partition/layout/layout.hpp"

namespace elk::cost {

/// The gather of all activations in one exchange, as an execute does it: bytes and fragments add
/// up, the sync is paid once. `moved` holds for each operand what crosses from where it rests to
/// its start layout, null: it comes from everywhere.
[[nodiscard]] ExchangeCost gather_all(const ir::Graph& graph, const ir::Op& op,
                                      const PlanOption& option,
                                      std::span<const partition::Transition* const> moved,
                                      const chip::Chip& chip);

}  // namespace elk::cost
