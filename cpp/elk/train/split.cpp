#include "elk/train/split.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

namespace elk::train {
namespace {

/// Whether splitting `axis`, which indexes the dimension, cuts the dimension into equal parts.
bool cuts_evenly(const ir::Op& op, const ir::Dim& dim, std::int64_t shape, std::int32_t axis) {
  if (dim.axes.front() != axis || dim.coef.front() <= 0) {
    return false;
  }
  const std::int64_t stride = dim.coef.front();
  std::int64_t last = dim.offset;  // that the inner axes reach
  for (std::size_t i = 1; i < dim.axes.size(); ++i) {
    const std::int64_t size = op.axes[static_cast<std::size_t>(dim.axes[i])].size;
    last += dim.coef[i] * (size - 1);
    if (dim.coef[i] < 0) {
      return false;
    }
  }
  const std::int64_t size = op.axes[static_cast<std::size_t>(axis)].size;
  return dim.offset >= 0 && last < stride && stride * size == shape;
}

/// What an operand must be read in, or is written in, where `axis` is split; empty where it does
/// not fall into equal parts.
std::optional<Form> form_of(const ir::Graph& graph, const ir::Op& op, const ir::Operand& operand,
                            std::int32_t axis) {
  const ir::Tensor& tensor = graph.tensors[static_cast<std::size_t>(operand.tensor)];
  std::optional<Form> form;
  for (std::size_t d = 0; d < operand.dims.size(); ++d) {
    const ir::Dim& dim = operand.dims[d];
    if (std::find(dim.axes.begin(), dim.axes.end(), axis) == dim.axes.end()) {
      continue;
    }
    if (form || !cuts_evenly(op, dim, tensor.shape[d], axis)) {
      return std::nullopt;
    }
    form = cut(static_cast<std::int32_t>(d));
  }
  if (form) {
    return form;
  }
  const bool summed = op.axes[static_cast<std::size_t>(axis)].role == ir::AxisRole::Reduction;
  return operand.access == ir::Access::Write && summed ? partial() : whole();
}

/// Whether a sum of what the chips compute of their parts of a reduction is the result.
bool adds_up(const ir::Op& op) {
  return op.kind == ir::OpKind::MatMul || op.kind == ir::OpKind::Conv ||
         op.function.starts_with("sum");
}

/// Picks by the part of an axis need the part of the index that stands there.
bool picks_by(const ir::Op& op, std::int32_t axis) {
  return std::any_of(op.operands.begin(), op.operands.end(), [&](const ir::Operand& operand) {
    return operand.indirect &&
           std::find(operand.indirect->axes.begin(), operand.indirect->axes.end(), axis) !=
               operand.indirect->axes.end();
  });
}

std::optional<Split> split_along(const ir::Graph& graph, const ir::Op& op, std::int32_t axis,
                                 std::int64_t chips) {
  const ir::Axis& split = op.axes[static_cast<std::size_t>(axis)];
  const bool sums = split.role == ir::AxisRole::Reduction;
  if (split.role == ir::AxisRole::Row || split.size % chips != 0 || (sums && !adds_up(op)) ||
      picks_by(op, axis)) {
    return std::nullopt;
  }
  Split result{.axis = axis, .forms = {}};
  for (const ir::Operand& operand : op.operands) {
    const std::optional<Form> form = form_of(graph, op, operand, axis);
    if (!form || (operand.access == ir::Access::Write && *form == whole())) {
      return std::nullopt;
    }
    result.forms.push_back(*form);
  }
  return result;
}

}  // namespace

std::vector<Split> splits(const ir::Graph& graph, const ir::Op& op, std::int64_t chips) {
  std::vector<Split> result{{.axis = -1, .forms = std::vector<Form>(op.operands.size(), whole())}};
  for (std::size_t axis = 0; axis < op.axes.size(); ++axis) {
    if (auto split = split_along(graph, op, static_cast<std::int32_t>(axis), chips)) {
      result.push_back(std::move(*split));
    }
  }
  return result;
}

ir::Op on_one_chip(const ir::Op& op, const Split& split, std::int64_t chips) {
  ir::Op result = op;
  if (split.axis >= 0) {
    result.axes[static_cast<std::size_t>(split.axis)].size /= chips;
    result.flops /= chips;
  }
  return result;
}

}  // namespace elk::train
