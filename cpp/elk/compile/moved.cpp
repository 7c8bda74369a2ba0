#include "elk/compile/moved.hpp"

#include <cstddef>
#include <optional>

#include "elk/base/ids.hpp"
#include "elk/program/execution.hpp"
#include "elk/program/expander.hpp"
#include "elk/program/gather.hpp"
#include "elk/program/lifetimes.hpp"
#include "elk/program/space.hpp"

namespace elk::compile {
namespace {

Moved moved_by(const program::PlacedOp& placed, const program::Program& program,
               const program::Lifetimes& lives) {
  const std::vector<ir::Operand>& operands = placed.op.operands;
  std::vector<std::optional<partition::Layout>> layouts(operands.size());
  std::vector<const partition::Layout*> have(operands.size(), nullptr);
  program::Exchange distribution;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].access == ir::Access::Write || partition::first_like(placed.op, k) != k) {
      continue;
    }
    if (!partition::from_hbm(placed.graph, operands[k])) {
      layouts[k] =
          program::rest_layout(placed.graph, operands[k].tensor, program.ops, lives, placed.chip);
      have[k] = layouts[k] ? &*layouts[k] : nullptr;
    } else if (placed.chip.hbm && placed.plan.divisor[k] > 1) {
      program::add_distribution(placed, k, distribution);
    }
  }
  const program::Exchange gather = program::gather(placed, have);
  return {.gather = {program::busiest(program::traffic(gather, placed.chip))},
          .distribute = {program::busiest(program::traffic(distribution, placed.chip))}};
}

}  // namespace

std::vector<Moved> moved(const ir::Graph& graph, const chip::Chip& chip,
                         const program::Program& program) {
  const program::Expander alike(graph, chip, program.ops);
  const program::Lifetimes lives = program::lifetimes(graph);
  std::vector<std::optional<Moved>> known(subscript(alike.executions()));
  std::vector<Moved> result;
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    std::optional<Moved>& one = known[subscript(alike.execution_of(static_cast<std::int32_t>(op)))];
    if (!one) {
      one = moved_by({graph, graph.ops[op], program.ops[op], chip}, program, lives);
    }
    result.push_back(*one);
  }
  return result;
}

}  // namespace elk::compile
