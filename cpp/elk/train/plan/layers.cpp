#include "elk/train/plan/layers.hpp"

#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/train/work/tensor_parallel.hpp"

namespace elk::train {
namespace {

/// Bytes made before each op, of weights or what they lead to, that it or a later one reads.
Table<OpId, Bytes> bytes_passing(const ir::Graph& graph) {
  const Table<OpId, Origin> origin = origins(graph);
  Table<TensorId, OpId> maker(graph.tensors.size(), OpId::none);
  Table<TensorId, OpId> last(graph.tensors.size(), OpId::none);
  for (const OpId op : graph.ops.ids()) {
    for (const ir::Operand& one : graph.ops[op].operands) {
      const bool made = one.access == ir::Access::Write && origin[op] != Origin::Inputs;
      (made ? maker : last)[one.tensor] = op;
    }
  }
  Table<OpId, Bytes> change(graph.ops.size() + 1, Bytes{0});
  for (const TensorId tensor : graph.tensors.ids()) {
    if (maker[tensor] != OpId::none && last[tensor] > maker[tensor]) {
      change[maker[tensor] + 1] += ir::bytes(graph.tensors[tensor]);
      change[last[tensor] + 1] -= ir::bytes(graph.tensors[tensor]);
    }
  }
  for (OpId op{1}; op < change.end_id(); ++op) {
    change[op] += change[op - 1];
  }
  return change;
}

}  // namespace

std::optional<ir::Repeat> layers_of(const ir::Graph& graph) {
  if (!graph.repeat) {
    return std::nullopt;
  }
  const ir::Repeat& found = *graph.repeat;
  const Table<OpId, OpId> alike = ir::equal_ops(graph);
  const Table<OpId, Bytes> passing = bytes_passing(graph);
  const OpId end = found.begin + (found.period * found.count);
  ir::Repeat best = found;
  for (std::int32_t k = 1; k < found.period && end + (k - 1) < graph.ops.end_id(); ++k) {
    if (alike[end + (k - 1)] != alike[found.begin + (k - 1)]) {
      break;
    }
    const OpId begin = found.begin + k;
    if (passing[begin + found.period] < passing[best.begin + found.period]) {
      best.begin = begin;
    }
  }
  return best;
}

std::optional<std::int32_t> layer_of(const std::optional<ir::Repeat>& layers, OpId op) {
  const bool inside =
      layers && op >= layers->begin && op < layers->begin + (layers->period * layers->count);
  return inside ? std::optional((op - layers->begin) / layers->period) : std::nullopt;
}

}  // namespace elk::train
