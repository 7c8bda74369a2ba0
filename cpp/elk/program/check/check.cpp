#include "elk/program/check/check.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/plan.hpp"
#include "elk/program/check/rules.hpp"
#include "elk/program/code/lifetimes.hpp"

namespace elk::program {
namespace {

/// Whether every position in the program lies within its table, so that rules may follow them.
bool positions_in_range(CheckContext& context) {
  const Program& program = context.program;
  const auto ops = static_cast<std::int64_t>(context.graph.ops.size());
  const auto tensors = static_cast<std::int64_t>(context.graph.tensors.size());
  const auto instructions = static_cast<std::int64_t>(program.code.size());
  const auto within = [](std::int64_t value, std::int64_t size) {
    return value >= 0 && value < size;
  };
  std::vector<std::string>& broken = context.broken;
  if (program.ops.size() != context.graph.ops.size()) {
    broken.push_back(text("the program plans ", program.ops.size(), " ops of ", ops));
  }
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    const Instruction& instruction = program.code[i];
    if (!within(instruction.subject, instruction.opcode == Opcode::Store ? tensors : ops)) {
      broken.push_back(text("instruction ", i, " names subject ", instruction.subject));
    }
  }
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[i];
    if (!within(buffer.op.value, ops) || !within(buffer.tensor.value, tensors)) {
      broken.push_back(text("buffer ", i, " names op ", buffer.op, ", tensor ", buffer.tensor));
    }
    if (!within(buffer.from, instructions) || !within(buffer.to, instructions) ||
        buffer.from > buffer.to) {
      broken.push_back(text("buffer ", i, " lives from ", buffer.from, " to ", buffer.to, " of ",
                            instructions, " instructions"));
    }
  }
  return broken.empty();
}

/// Design 3.4: a weight or state has a divisor that its copies allow or, without HBM, lies evenly
/// over all cores, as what an index picks from must; any other operand has none.
void check_divisors(CheckContext& context, OpId id) {
  const ir::Op& op = context.graph.ops[id];
  const OpPlan& plan = context.program.ops[id];
  for (const OperandId k : op.operands.ids()) {
    const std::int64_t divisor = plan.divisor[k];
    const std::string who = text(named(context.graph, id), ", operand ", k);
    if (!partition::from_hbm(context.graph, op.operands[k])) {
      if (divisor != 0) {
        context.broken.push_back(text(who, ": divisor ", divisor, " without data from HBM"));
      }
      continue;
    }
    std::vector<std::int64_t> allowed;
    if (context.chip.hbm || !op.operands[k].indirect) {
      allowed = partition::sharing(context.graph, op, k, plan.execute, context.chip).divisors;
    }
    if (!context.chip.hbm) {
      allowed.push_back(0);
    }
    if (std::find(allowed.begin(), allowed.end(), divisor) == allowed.end()) {
      context.broken.push_back(
          text(who, ": divisor ", divisor, " is none of its ", allowed.size(), " divisors"));
    }
  }
}

}  // namespace

std::string named(const ir::Graph& graph, OpId op) {
  return text("op ", op, " (", graph.ops[op].name, ")");
}

std::string named_tensor(const ir::Graph& graph, TensorId tensor) {
  return text("tensor ", tensor, " (", graph.tensors[tensor].name, ")");
}

Table<OpId, std::int8_t> check_plans(CheckContext& context) {
  Table<OpId, std::int8_t> valid(context.graph.ops.size(), 0);
  for (const OpId i : valid.ids()) {
    const ir::Op& op = context.graph.ops[i];
    const OpPlan& plan = context.program.ops[i];
    if (plan.divisor.size() != op.operands.size()) {
      context.broken.push_back(text(named(context.graph, i), ": ", plan.divisor.size(),
                                    " divisors for ", op.operands.size(), " operands"));
      continue;
    }
    const std::size_t before = context.broken.size();
    try {
      partition::validate(context.graph, op, plan.execute, context.chip);
      check_divisors(context, i);
    } catch (const InvalidInput& error) {
      context.broken.push_back(text(named(context.graph, i), ": ", error.what()));
    }
    valid[i] = context.broken.size() == before ? 1 : 0;
  }
  return valid;
}

std::vector<std::string> check_unplaced(const ir::Graph& graph, const chip::Chip& chip,
                                        const Program& program) {
  CheckContext context{.graph = graph, .chip = chip, .program = program, .broken = {}};
  if (positions_in_range(context)) {
    check_order(context);
    static_cast<void>(check_plans(context));
  }
  return std::move(context.broken);
}

std::vector<std::string> check(const ir::Graph& graph, const chip::Chip& chip,
                               const Program& program) {
  CheckContext context{.graph = graph, .chip = chip, .program = program, .broken = {}};
  if (!positions_in_range(context)) {
    return std::move(context.broken);
  }
  check_order(context);
  const Table<OpId, std::int8_t> valid = check_plans(context);
  check_addresses(context);
  check_coverage(context, valid);
  return std::move(context.broken);
}

}  // namespace elk::program
