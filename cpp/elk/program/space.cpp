#include "elk/program/space.hpp"

#include <algorithm>
#include <cstddef>

#include "elk/base/errors.hpp"
#include "elk/base/rounding.hpp"
#include "elk/program/sized_op.hpp"

namespace elk::program {
namespace {

std::size_t first_operand(const ir::Op& op, std::int32_t tensor) {
  const auto found = std::find_if(op.operands.begin(), op.operands.end(),
                                  [&](const ir::Operand& x) { return x.tensor == tensor; });
  return static_cast<std::size_t>(found - op.operands.begin());
}

/// Whether some operand of `op` cannot work on `tensor` where it rests.
bool needs_copy(const SizedOp& sized, std::int32_t tensor,
                const std::vector<const partition::Layout*>& have) {
  for (std::size_t k = 0; k < sized.op.operands.size(); ++k) {
    const ir::Operand& operand = sized.op.operands[k];
    if (operand.tensor != tensor || operand.access != ir::Access::Read) {
      continue;
    }
    if (have[k] == nullptr || rotates(sized.plan.execute, k) ||
        !partition::same(*have[k], partition::layout(sized.graph, sized.op, k, sized.plan.execute,
                                                     sized.chip))) {
      return true;
    }
  }
  return false;
}

void append(std::vector<ExecuteSpace>& out, std::size_t operand, Bytes bytes) {
  if (bytes > Bytes{0}) {
    out.push_back({.operand = static_cast<std::int32_t>(operand), .bytes = bytes});
  }
}

}  // namespace

bool rotates(const partition::ExecutePlan& plan, std::size_t k) {
  if (k >= plan.temporal.size()) {
    return false;
  }
  const std::vector<std::int64_t>& factors = plan.temporal[k];
  return std::any_of(factors.begin(), factors.end(), [](std::int64_t f) { return f > 1; });
}

SizedOp sized_op(const ir::Graph& graph, const ir::Op& op, const OpPlan& plan,
                 const chip::Chip& chip) {
  if (plan.divisor.size() != op.operands.size()) {
    throw InternalError(text("the plan of ", op.name, " has ", plan.divisor.size(),
                             " divisors for ", op.operands.size(), " operands"));
  }
  return {.graph = graph,
          .op = op,
          .plan = plan,
          .chip = chip,
          .footprint = partition::footprint(graph, op, plan.execute)};
}

Bytes rest_of(const SizedOp& sized, std::int32_t tensor) {
  const auto is_result = [](const ir::Operand& x) { return x.access == ir::Access::Write; };
  if (std::count_if(sized.op.operands.begin(), sized.op.operands.end(), is_result) == 1) {
    return sized.footprint.rest;
  }
  const std::vector<std::int32_t>& tensors = sized.footprint.tensors;
  const auto found = std::find(tensors.begin(), tensors.end(), tensor);
  return sized.footprint.tensor[static_cast<std::size_t>(found - tensors.begin())];
}

std::vector<ExecuteSpace> execute_space(const SizedOp& sized,
                                        const std::vector<const partition::Layout*>& have) {
  std::vector<ExecuteSpace> out;
  for (std::size_t i = 0; i < sized.footprint.tensors.size(); ++i) {
    const std::int32_t tensor = sized.footprint.tensors[i];
    const Bytes full = sized.footprint.tensor[i];
    const std::size_t k = first_operand(sized.op, tensor);
    const ir::Operand& operand = sized.op.operands[k];
    if (operand.access == ir::Access::Write) {
      append(out, k, full - rest_of(sized, tensor));
    } else if (!from_hbm(sized.graph, operand)) {
      append(out, k, needs_copy(sized, tensor, have) ? full : Bytes{0});
    } else if (sized.chip.hbm) {
      append(out, k, full - partition::preload_piece(full, sized.plan.divisor[k]));
    }
  }
  return out;
}

std::vector<ExecuteSpace> preload_space(const SizedOp& sized) {
  std::vector<ExecuteSpace> out;
  if (!sized.chip.hbm) {
    return out;
  }
  for (std::size_t i = 0; i < sized.footprint.tensors.size(); ++i) {
    const std::size_t k = first_operand(sized.op, sized.footprint.tensors[i]);
    if (from_hbm(sized.graph, sized.op.operands[k])) {
      append(out, k, partition::preload_piece(sized.footprint.tensor[i], sized.plan.divisor[k]));
    }
  }
  return out;
}

std::vector<ExecuteSpace> execute_space(const ir::Graph& graph, const ir::Op& op,
                                        const OpPlan& plan,
                                        const std::vector<const partition::Layout*>& have,
                                        const chip::Chip& chip) {
  return execute_space(sized_op(graph, op, plan, chip), have);
}

std::vector<ExecuteSpace> preload_space(const ir::Graph& graph, const ir::Op& op,
                                        const OpPlan& plan, const chip::Chip& chip) {
  return preload_space(sized_op(graph, op, plan, chip));
}

Bytes input_space(const ir::Tensor& tensor, const chip::Chip& chip) {
  return {round_up(ceil_div(ir::bytes(tensor).value, chip::total_cores(chip)), 8)};
}

Bytes rest_space(const ir::Graph& graph, std::int32_t tensor, const std::vector<OpPlan>& ops,
                 const Lifetimes& lives, const chip::Chip& chip) {
  const ir::Tensor& about = graph.tensors[static_cast<std::size_t>(tensor)];
  const std::int32_t producer = lives.producer[static_cast<std::size_t>(tensor)];
  if (producer >= 0) {
    const auto i = static_cast<std::size_t>(producer);
    return rest_of(sized_op(graph, graph.ops[i], ops[i], chip), tensor);
  }
  return about.home == ir::Home::Input ? input_space(about, chip) : Bytes{0};
}

std::optional<partition::Layout> rest_layout(const ir::Graph& graph, std::int32_t tensor,
                                             const std::vector<OpPlan>& ops, const Lifetimes& lives,
                                             const chip::Chip& chip) {
  const ir::Tensor& about = graph.tensors[static_cast<std::size_t>(tensor)];
  const std::int32_t producer = lives.producer[static_cast<std::size_t>(tensor)];
  if (producer >= 0) {
    const auto i = static_cast<std::size_t>(producer);
    const std::vector<ir::Operand>& operands = graph.ops[i].operands;
    const auto made = std::find_if(operands.begin(), operands.end(), [&](const ir::Operand& x) {
      return x.tensor == tensor && x.access == ir::Access::Write;
    });
    return partition::layout(graph, graph.ops[i], static_cast<std::size_t>(made - operands.begin()),
                             ops[i].execute, chip);
  }
  if (about.home != ir::Home::Input) {
    return std::nullopt;
  }
  return partition::Layout{.shape = about.shape,
                           .dims = {},
                           .size = {},
                           .factors = {},
                           .order = {},
                           .grid_stride = {},
                           .cores = chip::total_cores(chip),
                           .split_dim = -1,
                           .split = 1,
                           .split_axes = {},
                           .spread = true};
}

}  // namespace elk::program
