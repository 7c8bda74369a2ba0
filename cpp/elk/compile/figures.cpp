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
  for (std::size_t k = 0; placed.chip.hbm && k < placed.op.operands.size(); ++k) {
    if (partition::from_hbm(placed.graph, placed.op.operands[k]) &&
        partition::first_like(placed.op, k) == k) {
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
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    const auto id = static_cast<std::int32_t>(op);
    std::optional<Figures>& found = known[subscript(alike.execution_of(id))];
    if (!found) {
      found = figures_of({graph, graph.ops[op], program.ops[op], chip});
      add_exchanges(alike.execution(id), chip, *found);
    }
    result.push_back(*found);
  }
  return result;
}

}  // namespace elk::compile
