#include "elk/partition/plan.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/collective.hpp"
#include "elk/partition/extent.hpp"

namespace elk::partition {
namespace {

constexpr std::int64_t kAlignment = 8;

/// The tile of every axis, or its part where `operand` is split over time.
Table<AxisId, std::int64_t> held_tile(const ir::Op& op, OperandId operand,
                                      const ExecutePlan& plan) {
  Table<AxisId, std::int64_t> tile = tiling(op, plan).tile;
  const Table<DimId, std::int64_t>& temporal = plan.temporal[operand];
  for (const DimId dim : temporal.ids()) {
    if (temporal[dim] > 1) {
      std::int64_t& axis = tile[op.operands[operand].dims[dim].axes[0]];
      axis = ceil_div(axis, temporal[dim]);
    }
  }
  return tile;
}

/// A partial sum is kept at accumulation width while it grows over cores or over steps.
bool accumulates(const ir::Op& op, const ir::Operand& operand, const ExecutePlan& plan) {
  const auto axes = op.axes.ids();
  return std::any_of(axes.begin(), axes.end(), [&](AxisId axis) {
    const bool summed = op.axes[axis].role == ir::AxisRole::Reduction && !contains(operand, axis);
    return summed && (plan.factors[axis] > 1 || plan.pace[axis] > 0);
  });
}

/// Bits of a partial sum of what `operand` writes.
std::int64_t partial_bits(const ir::Graph& graph, const ir::Op& op, OperandId operand) {
  const auto tensor = op.operands[operand].tensor;
  return std::max(ir::bits(op.accumulate), ir::bits(graph.tensors[tensor].dtype));
}

Bytes result_space(const ir::Graph& graph, const ir::Op& op, OperandId operand,
                   const ExecutePlan& plan, const Scatter& parts) {
  const ir::Operand& result = op.operands[operand];
  const ir::DType stored = graph.tensors[result.tensor].dtype;
  const std::int64_t bits =
      accumulates(op, result, plan) ? partial_bits(graph, op, operand) : ir::bits(stored);
  return aligned(element_bytes(parts.tile, bits)) +
         aligned(element_bytes((parts.parts - 1) * parts.piece, bits)) +
         addend_space(graph, op, plan);
}

}  // namespace

Table<AxisId, std::int64_t> sizes(const ir::Op& op) {
  Table<AxisId, std::int64_t> result;
  result.reserve(op.axes.size());
  for (const ir::Axis& axis : op.axes) {
    result.push_back(axis.size);
  }
  return result;
}

Bytes element_bytes(std::int64_t elements, std::int64_t bits) {
  return {ceil_div(elements * bits, 8)};
}

Bytes aligned(Bytes bytes) { return {round_up(bytes.value, kAlignment)}; }

bool from_hbm(const ir::Graph& graph, const ir::Operand& operand) {
  return operand.access == ir::Access::Read && ir::in_hbm(graph.tensors[operand.tensor]);
}

OperandId first_like(const ir::Op& op, OperandId operand) {
  const ir::Operand& one = op.operands[operand];
  for (OperandId i{0}; i < operand; ++i) {
    const ir::Operand& other = op.operands[i];
    if (other.tensor == one.tensor && other.access == one.access && other.dims == one.dims &&
        other.indirect == one.indirect) {
      return i;
    }
  }
  return operand;
}

bool divisible(const ir::Op& op, AxisId axis) {
  if (ir::is_collective(op.kind)) {
    return std::all_of(op.operands.begin(), op.operands.end(),
                       [axis](const ir::Operand& operand) { return contains(operand, axis); });
  }
  return op.kind != ir::OpKind::Opaque || op.axes[axis].role == ir::AxisRole::Parallel;
}

void add_plan(const ExecutePlan& plan, KeyWriter& key) {
  const auto& [factors, temporal, pace, order, loops, mesh_dims] = plan;
  key.all(factors, temporal, pace, order, loops, mesh_dims);
}

Tiling tiling(const ir::Op& op, const ExecutePlan& plan) {
  Tiling result{.tile = {}, .sub_task = {}, .trips = {}, .cores = 1, .steps = 1};
  for (const AxisId axis : op.axes.ids()) {
    result.tile.push_back(ceil_div(op.axes[axis].size, plan.factors[axis]));
    const std::int64_t pace = plan.pace[axis];
    result.sub_task.push_back(pace > 0 ? pace : result.tile.back());
    result.cores *= plan.factors[axis];
  }
  for (const AxisId loop : plan.loops) {
    const auto axis = loop;
    result.trips.push_back(ceil_div(result.tile[axis], result.sub_task[axis]));
    result.steps *= result.trips.back();
  }
  return result;
}

std::int64_t elements_of_run(std::int64_t bits, const chip::Chip& chip) {
  const chip::Interconnect& links = chip.interconnect;
  return static_cast<std::int64_t>(8.0 * links.fragment_latency.value * links.link_rate) / bits;
}

Scatter scatter(TableView<DimId, const std::int64_t> counts, std::int64_t parts, std::int64_t run) {
  std::int64_t elements = 1;
  for (const std::int64_t count : counts) {
    elements *= count;
  }
  Scatter best{.parts = parts, .dim = DimId::none, .tile = elements, .piece = elements, .runs = 1};
  if (parts == 1 || counts.empty()) {
    return best;
  }
  best.dim = DimId{0};
  std::int64_t outer = 1;
  for (DimId dim{0}; dim.index() < counts.size(); ++dim) {
    const std::int64_t piece = elements / counts[dim] * ceil_div(counts[dim], parts);
    if (piece + (run * outer) < best.piece + (run * best.runs)) {
      best.dim = dim;
      best.piece = piece;
      best.runs = outer;
    }
    outer *= counts[dim];
  }
  return best;
}

Scatter scatter(const ir::Graph& graph, const ir::Op& op, OperandId operand,
                const ExecutePlan& plan, const chip::Chip& chip) {
  const ir::Operand& result = op.operands[operand];
  const ir::Tensor& tensor = graph.tensors[result.tensor];
  const Table<AxisId, std::int64_t> size = sizes(op);
  const Table<AxisId, std::int64_t> tile = tiling(op, plan).tile;
  Table<DimId, std::int64_t> counts;
  for (const DimId dim : result.dims.ids()) {
    counts.push_back(extent(tensor, result, dim, size, tile).count);
  }
  std::int64_t parts = 1;
  for (const AxisId axis : op.axes.ids()) {
    if (op.axes[axis].role == ir::AxisRole::Reduction && !contains(result, axis)) {
      parts *= plan.factors[axis];
    }
  }
  return scatter(counts, parts, elements_of_run(partial_bits(graph, op, operand), chip));
}

RowSums row_sums(const ir::Op& op) {
  if (op.kind == ir::OpKind::Softmax) {
    return {.rounds = 2, .values = 1};
  }
  return {.rounds = 1, .values = op.function == "rmsnorm" ? 1 : 2};
}

std::int64_t sharers(const ir::Op& op, OperandId operand,
                     const Table<AxisId, std::int64_t>& factors) {
  std::int64_t result = 1;
  for (const AxisId axis : factors.ids()) {
    if (!contains(op.operands[operand], axis)) {
      result *= factors[axis];
    }
  }
  return result;
}

Box held_box(const ir::Graph& graph, const ir::Op& op, OperandId operand, const ExecutePlan& plan) {
  const ir::Operand& held = op.operands[operand];
  return box(graph.tensors[held.tensor], held, sizes(op), held_tile(op, operand, plan));
}

Footprint footprint(const ir::Graph& graph, const ir::Op& op, const ExecutePlan& plan,
                    const chip::Chip& chip) {
  Footprint result{.operand = {}, .tensor = {}, .tensors = {}, .rest = {0}, .space = {0}};
  for (const OperandId i : op.operands.ids()) {
    const ir::Operand& operand = op.operands[i];
    const bool write = operand.access == ir::Access::Write;
    const ir::Tensor& tensor = graph.tensors[operand.tensor];
    const std::int64_t bits = ir::bits(tensor.dtype);
    if (write) {
      const Scatter parts = scatter(graph, op, i, plan, chip);
      result.operand.push_back(result_space(graph, op, i, plan, parts));
      result.rest += aligned(element_bytes(parts.piece, bits));
    } else {
      result.operand.push_back(aligned(element_bytes(held_box(graph, op, i, plan).elements, bits)));
    }
    if (first_like(op, i) != i) {
      continue;
    }
    const auto known = std::find(result.tensors.begin(), result.tensors.end(), operand.tensor);
    const auto slot = static_cast<std::size_t>(known - result.tensors.begin());
    if (known == result.tensors.end()) {
      result.tensors.push_back(operand.tensor);
      result.tensor.push_back({0});
    }
    result.tensor[slot] += result.operand[i];
    result.space += result.operand[i];
  }
  return result;
}

Bytes preload_piece(Bytes full, std::int64_t d) {
  return d == 0 ? Bytes{0} : aligned({ceil_div(full.value, d)});
}

Bytes spread_share(const ir::Tensor& tensor, const chip::Chip& chip) {
  return aligned({ceil_div(ir::bytes(tensor).value, chip::total_cores(chip))});
}

}  // namespace elk::partition
