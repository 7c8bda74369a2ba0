#include "elk/ir/touched.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace elk::ir {

IndexRange counted(const Op& op, const Dim& dim) {
  IndexRange range{.first = dim.offset, .last = dim.offset};
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
    const IndexRange range = counted(op, operand.dims[d]);
    elements *= static_cast<double>(std::min(range.last, length - 1) -
                                    std::max(range.first, std::int64_t{0}) + 1);
  }
  return elements * static_cast<double>(bits(tensor.dtype)) / 8.0;
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
