#pragma once

#include <span>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/chip/chip.hpp"
#include "elk/cost/exchange/exchange.hpp"
#include "elk/cost/option.hpp"
#include "elk/ir/graph.hpp"
#include "elk/partition/layout/layout.hpp"

namespace elk::cost {

/// What the gather of one operand moves.
struct Arrival {
  Traffic traffic;
  std::int64_t moved = 0;  // bytes through the middle of a grid, once each if multicast
};

/// An operand of an op under a plan.
struct PlannedRead {
  const ir::Graph& graph;
  const ir::Op& op;
  const partition::ExecutePlan& plan;
  const chip::Chip& chip;
  OperandId operand;
};

/// What one operand's gather moves if its tensor lies evenly over all cores, as a graph input does.
[[nodiscard]] Arrival from_everywhere(const PlannedRead& read);

/// The gather of all activations in one exchange, as an execute does it: bytes and fragments add
/// up, the sync is paid once. `moved` holds for each operand what crosses from where it rests to
/// its start layout, null: it comes from everywhere.
[[nodiscard]] ExchangeCost gather_all(
    const ir::Graph& graph, const ir::Op& op, const PlanOption& option,
    TableView<OperandId, const partition::Transition* const> moved, const chip::Chip& chip);

}  // namespace elk::cost
