#include "elk/partition/layout/layout.hpp"

#include <algorithm>
#include <cstddef>

#include "elk/partition/extent.hpp"
#include "elk/partition/layout/piece.hpp"
#include "elk/partition/order.hpp"

namespace elk::partition {
namespace {

/// The cut axes, outermost first, that `wanted` selects.
template <class Wanted>
std::vector<std::int32_t> cut_axes(const ExecutePlan& plan, const Wanted& wanted) {
  std::vector<std::int32_t> result;
  std::copy_if(plan.order.begin(), plan.order.end(), std::back_inserter(result), wanted);
  return result;
}

/// Whether places are numbers modulo `parts`, as `split_axes` say them.
bool by_number(const Rotation& rotation, std::int64_t parts) {
  return in_order(rotation) && rotation.ring == parts;
}

}  // namespace

Layout layout(const ir::Graph& graph, const ir::Op& op, std::size_t operand,
              const ExecutePlan& plan, const chip::Chip& chip) {
  const ir::Operand& piece = op.operands[operand];
  Layout result{.shape = graph.tensors[static_cast<std::size_t>(piece.tensor)].shape,
                .dims = piece.dims,
                .size = {},
                .factors = plan.factors,
                .order = plan.order,
                .grid_stride = strides(plan.factors, plan.order, plan.mesh_dims, chip),
                .cores = 1,
                .split_dim = -1,
                .split = 1,
                .split_axes = {},
                .circled = {},
                .spread = false};
  for (std::size_t axis = 0; axis < op.axes.size(); ++axis) {
    result.size.push_back(op.axes[axis].size);
    result.cores *= plan.factors[axis];
  }
  if (piece.access == ir::Access::Write) {
    const Scatter parts = scatter(graph, op, operand, plan, chip);
    result.split_dim = parts.dim;
    result.split = parts.parts;
    if (parts.parts > 1) {
      result.split_axes = cut_axes(plan, [&](std::int32_t axis) {
        return op.axes[static_cast<std::size_t>(axis)].role == ir::AxisRole::Reduction &&
               !contains(piece, axis);
      });
    }
  }
  return result;
}

Layout start_layout(const ir::Graph& graph, const ir::Op& op, std::size_t operand,
                    const ExecutePlan& plan, const chip::Chip& chip) {
  Layout result = layout(graph, op, operand, plan, chip);
  const std::vector<std::int64_t>& temporal = plan.temporal[operand];
  for (std::size_t dim = 0; dim < temporal.size(); ++dim) {
    if (temporal[dim] > 1) {
      result.circled.push_back(
          {.dim = static_cast<std::int64_t>(dim),
           .parts = temporal[dim],
           .turning = turning(op, plan, chip, op.operands[operand].dims[dim].axes[0])});
    }
  }
  if (result.circled.empty()) {
    return result;
  }
  const CircleDim first = result.circled.front();
  result.split_dim = first.dim;
  result.split = first.parts;
  result.split_axes =
      cut_axes(plan, [&](std::int32_t axis) { return !contains(op.operands[operand], axis); });
  if (result.circled.size() == 1 && first.turning.size() == 1 &&
      by_number(first.turning[0].rotation, first.parts)) {
    result.circled.clear();
  }
  return result;
}

bool same(const Layout& have, const Layout& need) {
  return comparable(have, need) && same(Pieces(have), Pieces(need));
}

}  // namespace elk::partition
