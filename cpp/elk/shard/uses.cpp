#include "elk/shard/uses.hpp"

#include <cstddef>

#include "elk/base/ids.hpp"

namespace elk::shard {
namespace {

void mark_spanning(const ir::Graph& graph, TensorUses& result) {
  const auto [begin, period, count] = *graph.repeat;
  const std::int32_t end = begin + (period * count);
  for (std::int32_t op = begin; op < begin + period; ++op) {
    for (const ir::Operand& operand : graph.ops[subscript(op)].operands) {
      if (operand.access == ir::Access::Write &&
          result.last_reader[subscript(operand.tensor)] >= end) {
        result.spans[subscript(operand.tensor)] = 1;
      }
    }
  }
}

}  // namespace

TensorUses uses(const ir::Graph& graph) {
  const std::size_t count = graph.tensors.size();
  TensorUses result{.last_reader = std::vector<std::int32_t>(count, -1),
                    .kept = std::vector<std::int8_t>(count, 0),
                    .picks = std::vector<std::int8_t>(count, 0),
                    .spans = std::vector<std::int8_t>(count, 0)};
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    for (const ir::Operand& operand : graph.ops[op].operands) {
      if (operand.access == ir::Access::Read) {
        result.last_reader[subscript(operand.tensor)] = static_cast<std::int32_t>(op);
      }
      if (operand.indirect) {
        result.picks[subscript(operand.indirect->index)] = 1;
      }
    }
  }
  for (const ir::Store& store : graph.stores) {
    result.kept[subscript(store.tensor)] = 1;
  }
  for (const std::int32_t tensor : graph.outputs) {
    result.kept[subscript(tensor)] = 1;
  }
  if (graph.repeat) {
    mark_spanning(graph, result);
  }
  return result;
}

std::int32_t first_to_repeat(const ir::Graph& graph, const TensorUses& uses) {
  const ir::Repeat& repeat = *graph.repeat;
  const std::int32_t last = repeat.begin + (repeat.period * (repeat.count - 1));
  std::int32_t first = 1;
  for (std::int32_t op = repeat.begin; op < last; ++op) {
    const std::int32_t layer = (op - repeat.begin) / repeat.period;
    const std::int32_t after_next = repeat.begin + ((layer + 2) * repeat.period);
    for (const ir::Operand& operand : graph.ops[subscript(op)].operands) {
      if (operand.access != ir::Access::Write) {
        continue;
      }
      if (uses.spans[subscript(operand.tensor)] != 0) {
        first = 2;
      } else if (uses.last_reader[subscript(operand.tensor)] >= after_next) {
        return repeat.count;
      }
    }
  }
  return first;
}

bool is_allowed(const ir::Op& op, const Split& split, const TensorUses& uses, bool silent) {
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const std::size_t tensor = subscript(op.operands[i].tensor);
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
