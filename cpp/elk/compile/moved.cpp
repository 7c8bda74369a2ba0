#include "elk/compile/moved.hpp"

#include <cstddef>
#include <optional>

#include "elk/base/ids.hpp"
#include "elk/base/parallel.hpp"
#include "elk/program/code/lifetimes.hpp"
#include "elk/program/code/space.hpp"
#include "elk/program/expand/execution.hpp"
#include "elk/program/expand/expander.hpp"
#include "elk/program/expand/gather.hpp"

namespace elk::compile {
namespace {

ExchangeBytes moved_by(const program::PlacedOp& placed, const program::Program& program,
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

std::vector<ExchangeBytes> moved(const ir::Graph& graph, const chip::Chip& chip,
                                 const program::Program& program, int threads) {
  const program::Expander alike(graph, chip, program.ops);
  const program::Lifetimes lives = program::lifetimes(graph);
  std::vector<std::int32_t> first(subscript(alike.executions()), -1);  // op of each execution
  const auto end = static_cast<std::int32_t>(graph.ops.size());
  for (std::int32_t op = end; op-- > 0;) {
    first[subscript(alike.execution_of(op))] = op;
  }
  const std::vector<ExchangeBytes> known = parallel_map(
      first,
      [&](std::int32_t op) {
        const std::size_t at = subscript(op);
        return moved_by({graph, graph.ops[at], program.ops[at], chip}, program, lives);
      },
      threads);
  std::vector<ExchangeBytes> result;
  result.reserve(graph.ops.size());
  for (std::int32_t op = 0; op < end; ++op) {
    result.push_back(known[subscript(alike.execution_of(op))]);
  }
  return result;
}

}  // namespace elk::compile
