#include "elk/compile/moved.hpp"

#include <cstddef>
#include <optional>

#include "elk/base/ids.hpp"
#include "elk/base/parallel.hpp"
#include "elk/base/table.hpp"
#include "elk/program/code/lifetimes.hpp"
#include "elk/program/code/space.hpp"
#include "elk/program/expand/execution.hpp"
#include "elk/program/expand/expander.hpp"
#include "elk/program/expand/gather.hpp"

namespace elk::compile {
namespace {

ExchangeBytes moved_by(const program::PlacedOp& placed, const program::Program& program,
                       const program::Lifetimes& lives) {
  const Table<OperandId, ir::Operand>& operands = placed.op.operands;
  Table<OperandId, std::optional<partition::Layout>> layouts(operands.size());
  Table<OperandId, const partition::Layout*> have(operands.size(), nullptr);
  program::Exchange distribution;
  for (const OperandId k : operands.ids()) {
    if (operands[k].access == ir::Access::Write || partition::first_like(placed.op, k) != k) {
      continue;
    }
    if (!partition::from_hbm(placed.graph, operands[k])) {
      layouts[k] =
          program::rest_layout(placed.graph, operands[k].tensor, program.ops, lives, placed.chip);
      have[k] = layouts[k] ? &*layouts[k] : nullptr;
    } else {
      program::add_setup(placed, k, distribution);
    }
  }
  const program::Exchange gather = program::gather(placed, have);
  return {.gather = {program::busiest(program::traffic(gather, placed.chip))},
          .distribute = {program::busiest(program::traffic(distribution, placed.chip))}};
}

}  // namespace

Table<OpId, ExchangeBytes> moved(const ir::Graph& graph, const chip::Chip& chip,
                                 const program::Program& program, int threads) {
  const program::Expander alike(graph, chip, program.ops);
  const program::Lifetimes lives = program::lifetimes(graph);
  std::vector<OpId> first(subscript(alike.executions()), OpId::none);  // op of each execution
  const auto end = static_cast<std::int32_t>(graph.ops.size());
  for (OpId op{end}; op-- > OpId{0};) {
    first[subscript(alike.execution_of(op))] = op;
  }
  const std::vector<ExchangeBytes> known = parallel_map(
      first,
      [&](OpId op) {
        return moved_by({graph, graph.ops[op], program.ops[op], chip}, program, lives);
      },
      threads);
  Table<OpId, ExchangeBytes> result;
  result.reserve(graph.ops.size());
  for (const OpId op : first_ids<OpId>(end)) {
    result.push_back(known[subscript(alike.execution_of(op))]);
  }
  return result;
}

}  // namespace elk::compile
