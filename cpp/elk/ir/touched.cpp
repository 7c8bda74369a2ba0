#include "elk/ir/touched.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace elk::ir {

CountedRange counted(const Op& op, const Dim& dim) {
  CountedRange range{.first = dim.offset, .last = dim.offset};
  for (std::size_t k = 0; k < dim.axes.size(); ++k) {
    range.last += dim.coef[k] * (op.axes[dim.axes[k]].size - 1);
  }
  return range;
}

bool is_along(const Operand& operand, AxisId axis) {
  const auto counts = [axis](const std::vector<AxisId>& axes) {
    return std::ranges::find(axes, axis) != axes.end();
  };
  return (operand.indirect && counts(operand.indirect->axes)) ||
         std::ranges::any_of(operand.dims, [&](const Dim& dim) { return counts(dim.axes); });
}

double touched(const Graph& graph, const Op& op, const Operand& operand) {
  const Tensor& tensor = graph.tensors[operand.tensor];
  double elements = 1.0;
  for (const DimId d : operand.dims.ids()) {
    const std::int64_t length = tensor.shape[d];
    if (operand.indirect && operand.indirect->dim == d) {
      elements *=
          std::clamp(std::ceil(operand.indirect->expected_picks), 1.0, static_cast<double>(length));
      continue;
    }
    const CountedRange range = counted(op, operand.dims[d]);
    const std::int64_t count =
        std::min(range.last, length - 1) - std::max(range.first, std::int64_t{0}) + 1;
    elements *= static_cast<double>(std::max(count, std::int64_t{0}));
  }
  return elements * static_cast<double>(bits(tensor.dtype)) / 8.0;
}

double least_touched(const Graph& graph) {
  double most = 0.0;
  for (Op op : graph.ops) {
    for (Axis& axis : op.axes) {
      axis.size = axis.role == AxisRole::Parallel ? 1 : axis.size;
    }
    for (Operand& operand : op.operands) {  // Picks of all axes may be one.
      if (operand.indirect) {
        operand.indirect->expected_picks = 1.0;
      }
    }
    most = std::max(most, touched(graph, op).all());
  }
  return most;
}

TouchedBytes touched(const Graph& graph, const Op& op, AxisId axis) {
  TouchedBytes sum{.along = 0.0, .fixed = 0.0};
  for (const OperandId k : op.operands.ids()) {
    const Operand& operand = op.operands[k];
    const bool again =
        std::any_of(op.operands.begin(), op.operands.begin() + k.value, [&](const Operand& before) {
          return before.tensor == operand.tensor && before.dims == operand.dims;
        });
    if (!again) {
      (is_along(operand, axis) ? sum.along : sum.fixed) += touched(graph, op, operand);
    }
  }
  return sum;
}

}  // namespace elk::ir
