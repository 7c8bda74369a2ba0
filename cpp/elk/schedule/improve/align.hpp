#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/plan.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/schedule.hpp"
#include "elk/schedule/timing/allocate.hpp"

namespace elk::schedule {

/// The axis of `op` that alone indexes dimension `dim` of an operand as it is and may be cut, or
/// -1.
[[nodiscard]] AxisId cuttable_axis(const ir::Op& op, const ir::Operand& operand, DimId dim);

/// A plan of `op` that holds operand `slot` as `layout` has it, where the axes of the op allow it.
[[nodiscard]] std::optional<partition::ExecutePlan> follow(const ir::Op& op, OperandId slot,
                                                           const partition::Layout& layout,
                                                           const chip::Chip& chip);

/// In execution order, gives each op the plan that costs least between the layouts its operands
/// rest in and the layouts its readers need, as long as it takes no more space than the plan it has
/// (small plans: than a small share of `room`). Fronts are made with nothing in place, so that a
/// plan which finds its operands where they are is often missing from them: those are added.
void align(Problem& problem, Table<OpId, Choice>& choices, const Contention& contention,
           Bytes room);

}  // namespace elk::schedule
