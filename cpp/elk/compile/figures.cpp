#include "elk/compile/figures.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

#include "elk/base/ids.hpp"
#include "elk/cost/price/states.hpp"
#include "elk/partition/plan.hpp"
#include "elk/program/code/space.hpp"
#include "elk/program/code/spaces.hpp"
#include "elk/program/expand/execution.hpp"
#include "elk/program/expand/expander.hpp"

namespace elk::compile {
namespace {

Figures figures_of(const program::PlacedOp& placed) {
  const partition::ExecutePlan& plan = placed.plan.execute;
  const partition::Tiling tiling = partition::tiling(placed.op, plan);
  Figures result{.cores = tiling.cores,
                 .steps = tiling.steps,
                 .space = partition::footprint(placed.graph, placed.op, plan, placed.chip).tensor,
                 .preload_space = {0},
                 .hbm_bytes = 0,
                 .exchange = {0},
                 .distribute = {0},
                 .sent = {0}};
  const program::OpBytes sizes = program::sizes_of(placed.graph, placed.op, plan, placed.chip);
  for (const program::ExecuteSpace& piece : program::preload_space(placed, sizes)) {
    result.preload_space += piece.bytes;
  }
  for (const OperandId k : placed.op.operands.ids()) {
    const ir::Operand& operand = placed.op.operands[k];
    if (!partition::from_hbm(placed.graph, operand) || partition::first_like(placed.op, k) != k) {
      continue;
    }
    if (!placed.chip.hbm) {
      const bool spread = placed.plan.divisor[k] == 0;
      result.preload_space +=
          spread ? partition::spread_share(placed.graph.tensors[operand.tensor], placed.chip)
                 : Bytes{0};
    } else {
      result.hbm_bytes +=
          cost::hbm_bytes(partition::sharing(placed.graph, placed.op, k, plan, placed.chip),
                          placed.plan.divisor[k], placed.chip.interconnect.multicast);
    }
  }
  return result;
}

Bytes busiest(const program::Exchange& exchange, const chip::Chip& chip) {
  return {program::busiest(program::traffic(exchange, chip))};
}

/// Adds what an execution exchanges, step by step, as the simulator counts it.
void add_exchanges(const program::Execution& execution, const chip::Chip& chip, Figures& sum) {
  sum.distribute = busiest(execution.distribute, chip);
  sum.exchange = busiest(execution.gather, chip);
  if (execution.collective) {
    for (const program::CollectiveSteps& crossing : execution.collective->crossings) {
      sum.exchange += Bytes{crossing.port * crossing.steps};
      sum.sent += Bytes{crossing.sent * crossing.steps};
    }
    sum.exchange += busiest(execution.collective->deliver, chip);
    return;
  }
  for (const program::RotationExchange& rotation : execution.rotations) {
    const std::int64_t times = (execution.steps - 1) / rotation.every;
    sum.exchange += busiest(rotation.exchange, chip) * times;
  }
  for (const program::ReductionRound& round : execution.reduce) {
    sum.exchange += busiest(round.exchange, chip);
  }
}

}  // namespace

std::vector<Figures> figures(const ir::Graph& graph, const chip::Chip& chip,
                             const program::Program& program) {
  const program::Expander alike(graph, chip, program.ops);
  std::vector<std::optional<Figures>> known(subscript(alike.executions()));
  std::vector<Figures> result;
  result.reserve(graph.ops.size());
  for (const OpId op : graph.ops.ids()) {
    std::optional<Figures>& found = known[subscript(alike.execution_of(op))];
    if (!found) {
      found = figures_of({graph, graph.ops[op], program.ops[op], chip});
      add_exchanges(alike.execution(op), chip, *found);
    }
    result.push_back(*found);
  }
  return result;
}

std::vector<Figures> figures_unmoved(const ir::Graph& graph, const chip::Chip& chip,
                                     const program::Program& program) {
  std::vector<Figures> result;
  result.reserve(graph.ops.size());
  for (const OpId op : graph.ops.ids()) {
    result.push_back(figures_of({graph, graph.ops[op], program.ops[op], chip}));
  }
  return result;
}

}  // namespace elk::compile
