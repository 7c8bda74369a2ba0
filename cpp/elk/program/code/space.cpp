#include "elk/program/code/space.hpp"

#include <algorithm>
#include <cstddef>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/program/code/spaces.hpp"

namespace elk::program {
namespace {

void append(std::vector<ExecuteSpace>& out, OperandId operand, Bytes bytes) {
  if (bytes > Bytes{0}) {
    out.push_back({.operand = operand, .bytes = bytes});
  }
}

/// Whether an earlier operand works on the same tensor where it rests: a second expression of it
/// needs room of its own.
bool taken(const ir::Op& op, const Table<OperandId, std::int8_t>& in_place, OperandId k) {
  for (OperandId i{0}; i < k; ++i) {
    if (op.operands[i].tensor == op.operands[k].tensor && in_place[i] != 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

OpBytes sizes_of(const ir::Graph& graph, const ir::Op& op, const partition::ExecutePlan& plan,
                 const chip::Chip& chip) {
  OpBytes out{.operand = partition::footprint(graph, op, plan, chip).operand, .rest = {}};
  for (const OperandId k : op.operands.ids()) {
    const ir::Operand& operand = op.operands[k];
    Bytes rest{0};
    if (operand.access == ir::Access::Write) {
      const ir::DType dtype = graph.tensors[operand.tensor].dtype;
      const partition::Scatter parts = partition::scatter(graph, op, k, plan, chip);
      rest = partition::aligned(partition::element_bytes(parts.piece, ir::bits(dtype)));
    }
    out.rest.push_back(rest);
  }
  return out;
}

std::vector<ExecuteSpace> execute_space(const PlacedOp& placed, const OpBytes& sizes,
                                        const Table<OperandId, std::int8_t>& in_place) {
  const ir::Op& op = placed.op;
  std::vector<ExecuteSpace> out;
  for (const OperandId k : op.operands.ids()) {
    if (partition::first_like(op, k) != k) {
      continue;
    }
    const Bytes full = sizes.operand[k];
    if (op.operands[k].access == ir::Access::Write) {
      append(out, k, full - sizes.rest[k]);
    } else if (!partition::from_hbm(placed.graph, op.operands[k])) {
      append(out, k, in_place[k] != 0 && !taken(op, in_place, k) ? Bytes{0} : full);
    } else {
      append(out, k, full - partition::preload_piece(full, placed.plan.divisor[k]));
    }
  }
  return out;
}

std::vector<ExecuteSpace> preload_space(const PlacedOp& placed, const OpBytes& sizes) {
  std::vector<ExecuteSpace> out;
  for (OperandId k{0}; k.index() < placed.op.operands.size(); ++k) {
    if (partition::from_hbm(placed.graph, placed.op.operands[k]) &&
        partition::first_like(placed.op, k) == k) {
      append(out, k, partition::preload_piece(sizes.operand[k], placed.plan.divisor[k]));
    }
  }
  return out;
}

bool rotates(const partition::ExecutePlan& plan, OperandId k) {
  if (k.index() >= plan.temporal.size()) {
    return false;
  }
  const Table<DimId, std::int64_t>& factors = plan.temporal[k];
  return std::any_of(factors.begin(), factors.end(), [](std::int64_t f) { return f > 1; });
}

/// The operand by which `op` makes `tensor`.
std::size_t result_operand(const ir::Op& op, TensorId tensor) {
  const auto made = std::find_if(op.operands.begin(), op.operands.end(), [&](const ir::Operand& x) {
    return x.tensor == tensor && x.access == ir::Access::Write;
  });
  return static_cast<std::size_t>(made - op.operands.begin());
}

std::vector<ExecuteSpace> execute_space(const ir::Graph& graph, const ir::Op& op,
                                        const OpPlan& plan,
                                        const Table<OperandId, const partition::Layout*>& have,
                                        const chip::Chip& chip) {
  Table<OperandId, std::int8_t> in_place(op.operands.size(), 0);
  for (const OperandId k : op.operands.ids()) {
    if (have[k] != nullptr && !have[k]->spread && !rotates(plan.execute, k)) {
      const bool ready =
          partition::same(*have[k], partition::layout(graph, op, k, plan.execute, chip));
      in_place[k] = ready ? 1 : 0;
    }
  }
  return execute_space(graph, op, plan, in_place, chip);
}

std::vector<ExecuteSpace> execute_space(const ir::Graph& graph, const ir::Op& op,
                                        const OpPlan& plan,
                                        const Table<OperandId, std::int8_t>& in_place,
                                        const chip::Chip& chip) {
  return execute_space({graph, op, plan, chip}, sizes_of(graph, op, plan.execute, chip), in_place);
}

std::vector<ExecuteSpace> preload_space(const ir::Graph& graph, const ir::Op& op,
                                        const OpPlan& plan, const chip::Chip& chip) {
  return preload_space({graph, op, plan, chip}, sizes_of(graph, op, plan.execute, chip));
}

Table<TensorId, OpId> spread_by(const ir::Graph& graph, const Table<OpId, OpPlan>& ops) {
  Table<TensorId, OpId> result(graph.tensors.size(), OpId::none);
  for (const OpId op : graph.ops.ids()) {
    for (const OperandId k : graph.ops[op].operands.ids()) {
      const ir::Operand& operand = graph.ops[op].operands[k];
      if (partition::from_hbm(graph, operand) && ops[op].divisor[k] == 0 &&
          result[operand.tensor] == OpId::none) {
        result[operand.tensor] = op;
      }
    }
  }
  return result;
}

std::optional<partition::Layout> rest_layout(const ir::Graph& graph, TensorId tensor,
                                             const Table<OpId, OpPlan>& ops, const Lifetimes& lives,
                                             const chip::Chip& chip) {
  const OpId producer = lives.producer[tensor];
  if (producer != OpId::none) {
    const ir::Op& maker = graph.ops[producer];
    return partition::layout(graph, maker, id_at<OperandId>(result_operand(maker, tensor)),
                             ops[producer].execute, chip);
  }
  const ir::Tensor& about = graph.tensors[tensor];
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
                           .split_dim = DimId::none,
                           .split = 1,
                           .split_axes = {},
                           .circled = {},
                           .spread = true};
}

}  // namespace elk::program
