#include "elk/ir/rounds.hpp"

#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/text.hpp"

namespace elk::ir {
namespace {

/// Has the results of `op` be of tensors of their own, in the type in which it adds up.
void keep_partial_sums(Op& op, Graph& graph) {
  for (Operand& operand : op.operands) {
    if (operand.access == Access::Write) {
      Tensor partial = graph.tensors[operand.tensor];
      partial.dtype = bits(op.accumulate) > bits(partial.dtype) ? op.accumulate : partial.dtype;
      partial.name += "/partial";
      partial.home = Home::Activation;
      operand.tensor = id_at<TensorId>(graph.tensors.size());
      graph.tensors.push_back(std::move(partial));
    }
  }
}

}  // namespace

void shorten(Op& op, AxisId axis, std::int64_t length) {
  std::int64_t& size = op.axes[axis].size;
  op.flops = (op.flops / size * length) + (op.flops % size * length / size);
  size = length;
}

bool sums_up(const Op& op, const Rounds& rounds) {
  return rounds.count > 1 && op.axes[rounds.axis].role == AxisRole::Reduction;
}

Graph in_rounds(const Graph& graph, const Table<OpId, Rounds>& rounds) {
  if (rounds.size() != graph.ops.size()) {
    throw InvalidInput(
        text("rounds are needed of ", graph.ops.size(), " ops, got ", rounds.size()));
  }
  Graph result = graph;
  for (const OpId i : rounds.ids()) {
    const auto& [axis, count] = rounds[i];
    Op& op = result.ops[i];
    if (count == 1) {
      continue;
    }
    if (axis < AxisId{0} || axis.index() >= op.axes.size() || op.axes[axis].role == AxisRole::Row ||
        count < 1 || count > op.axes[axis].size) {
      throw InvalidInput(
          text("op ", i, " (", op.name, ") cannot run in ", count, " rounds along axis ", axis));
    }
    shorten(op, axis, ceil_div(op.axes[axis].size, count));
    if (sums_up(op, rounds[i])) {
      keep_partial_sums(op, result);
    }
  }
  return result;
}

}  // namespace elk::ir
