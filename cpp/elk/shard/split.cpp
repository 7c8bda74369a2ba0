#include "elk/shard/split.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"

namespace elk::shard {
namespace {

/// What an operand must be read in, or is written in, where `axis` is split; empty where it does
/// not fall into blocks.
std::optional<Form> form_of(const ir::Graph& graph, const ir::Op& op, const ir::Operand& operand,
                            AxisId axis) {
  const ir::Tensor& tensor = graph.tensors[operand.tensor];
  std::optional<Form> form;
  for (const DimId d : operand.dims.ids()) {
    const ir::Dim& dim = operand.dims[d];
    if (std::find(dim.axes.begin(), dim.axes.end(), axis) == dim.axes.end()) {
      continue;
    }
    if (form || !block_length(op, dim, tensor.shape[d], axis)) {
      return std::nullopt;
    }
    form = cut(d);
  }
  if (form) {
    return form;
  }
  const bool summed = op.axes[axis].role == ir::AxisRole::Reduction;
  return operand.access == ir::Access::Write && summed ? partial() : whole();
}

/// Whether a sum of what the chips compute of their parts of a reduction is the result.
bool adds_up(const ir::Op& op) {
  return op.kind == ir::OpKind::MatMul || op.kind == ir::OpKind::Conv ||
         op.function.starts_with("sum");
}

/// Picks by the part of an axis need the part of the index that stands there.
bool picks_by(const ir::Op& op, AxisId axis) {
  return std::any_of(op.operands.begin(), op.operands.end(), [&](const ir::Operand& operand) {
    return operand.indirect &&
           std::find(operand.indirect->axes.begin(), operand.indirect->axes.end(), axis) !=
               operand.indirect->axes.end();
  });
}

bool is_made(const ir::Tensor& tensor) {
  return tensor.home == ir::Home::Activation || tensor.home == ir::Home::Output;
}

/// The part of `axis` that makes the parts of all made operands as long as they are held; weights,
/// states and inputs lie as they are read. Empty if there is none.
std::optional<std::int64_t> agreed_part(const ir::Graph& graph, const ir::Op& op,
                                        const Split& split, const PartLengths& lengths) {
  std::optional<std::int64_t> agreed;
  for (const OperandId i : op.operands.ids()) {
    const ir::Operand& operand = op.operands[i];
    if (split.forms[i].kind != Form::Kind::Cut || !is_made(graph.tensors[operand.tensor])) {
      continue;
    }
    const std::int64_t length = lengths.of(operand.tensor, split.forms[i].dim);
    const std::int64_t block = operand.dims[split.forms[i].dim].coef.front();
    if (length % block != 0 || (agreed && *agreed != length / block)) {
      return std::nullopt;
    }
    agreed = length / block;
  }
  const std::int64_t size = op.axes[split.axis].size;
  const std::int64_t part = agreed.value_or(ceil_div(size, lengths.chips()));
  return part < size ? std::optional(part) : std::nullopt;
}

std::optional<Split> split_along(const ir::Graph& graph, const ir::Op& op, AxisId axis,
                                 const PartLengths& lengths) {
  const ir::Axis& split = op.axes[axis];
  const bool sums = split.role == ir::AxisRole::Reduction;
  if (split.role == ir::AxisRole::Row || (sums && !adds_up(op)) || picks_by(op, axis)) {
    return std::nullopt;
  }
  Split result{.axis = axis, .part = 0, .forms = {}};
  for (const ir::Operand& operand : op.operands) {
    const std::optional<Form> form = form_of(graph, op, operand, axis);
    if (!form || (operand.access == ir::Access::Write && *form == whole())) {
      return std::nullopt;
    }
    result.forms.push_back(*form);
  }
  const std::optional<std::int64_t> part = agreed_part(graph, op, result, lengths);
  if (!part) {
    return std::nullopt;
  }
  result.part = *part;
  return result;
}

}  // namespace

Split unsplit(const ir::Op& op) {
  return {.axis = AxisId::none,
          .part = 0,
          .forms = Table<OperandId, Form>(op.operands.size(), whole())};
}

std::vector<Split> splits(const ir::Graph& graph, const ir::Op& op, const PartLengths& lengths) {
  std::vector<Split> result{unsplit(op)};
  for (const AxisId axis : op.axes.ids()) {
    if (auto split = split_along(graph, op, axis, lengths)) {
      result.push_back(std::move(*split));
    }
  }
  return result;
}

ir::Op on_one_chip(const ir::Op& op, const Split& split) {
  ir::Op result = op;
  if (split.axis != AxisId::none) {
    const std::int64_t size = op.axes[split.axis].size;
    result.axes[split.axis].size = split.part;
    result.flops = (op.flops / size * split.part) + (op.flops % size * split.part / size);
  }
  return result;
}

std::int64_t part_length(const ir::Op& op, const Split& split, OperandId place) {
  return op.operands[place].dims[split.forms[place].dim].coef.front() * split.part;
}

}  // namespace elk::shard
