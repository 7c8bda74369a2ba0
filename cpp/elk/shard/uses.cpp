#include "elk/shard/uses.hpp"

#include <cstddef>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"

namespace elk::shard {
namespace {

void mark_spanning(const ir::Graph& graph, TensorUses& result) {
  const auto [begin, period, count] = *graph.repeat;
  const OpId end{begin + (period * count)};
  for (OpId op{begin}; op < OpId{begin + period}; ++op) {
    for (const ir::Operand& operand : graph.ops[op].operands) {
      if (operand.access == ir::Access::Write && result.last_reader[operand.tensor] >= end) {
        result.spans[operand.tensor] = 1;
      }
    }
  }
}

}  // namespace

TensorUses uses(const ir::Graph& graph) {
  const std::size_t count = graph.tensors.size();
  TensorUses result{.last_reader = Table<TensorId, OpId>(count, OpId::none),
                    .kept = Table<TensorId, std::int8_t>(count, 0),
                    .picks = Table<TensorId, std::int8_t>(count, 0),
                    .spans = Table<TensorId, std::int8_t>(count, 0)};
  for (const OpId op : graph.ops.ids()) {
    for (const ir::Operand& operand : graph.ops[op].operands) {
      if (operand.access == ir::Access::Read) {
        result.last_reader[operand.tensor] = op;
      }
      if (operand.indirect) {
        result.picks[operand.indirect->index] = 1;
      }
    }
  }
  for (const ir::Store& store : graph.stores) {
    result.kept[store.tensor] = 1;
  }
  for (const TensorId tensor : graph.outputs) {
    result.kept[tensor] = 1;
  }
  if (graph.repeat) {
    mark_spanning(graph, result);
  }
  return result;
}

std::int32_t first_to_repeat(const ir::Graph& graph, const TensorUses& uses) {
  const ir::Repeat& repeat = *graph.repeat;
  const OpId last = repeat.begin + (repeat.period * (repeat.count - 1));
  std::int32_t first = 1;
  for (OpId op = repeat.begin; op < last; ++op) {
    const std::int32_t layer = (op - repeat.begin) / repeat.period;
    const OpId after_next = repeat.begin + ((layer + 2) * repeat.period);
    for (const ir::Operand& operand : graph.ops[op].operands) {
      if (operand.access != ir::Access::Write) {
        continue;
      }
      if (uses.spans[operand.tensor] != 0) {
        first = 2;
      } else if (uses.last_reader[operand.tensor] >= after_next) {
        return repeat.count;
      }
    }
  }
  return first;
}

bool is_allowed(const ir::Op& op, const Split& split, const TensorUses& uses, bool silent) {
  for (const OperandId i : op.operands.ids()) {
    const TensorId tensor = op.operands[i].tensor;
    const Form form = split.forms[i];
    const bool written = op.operands[i].access == ir::Access::Write;
    if ((form == partial() && (silent || uses.kept[tensor] != 0)) ||
        (written && form != whole() && uses.picks[tensor] != 0)) {
      return false;
    }
  }
  return true;
}

}  // namespace elk::shard
