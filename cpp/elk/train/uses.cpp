#include "elk/train/uses.hpp"

#include <cstddef>

#include "elk/base/ids.hpp"

namespace elk::train {

Uses uses(const ir::Graph& graph) {
  const std::size_t count = graph.tensors.size();
  Uses result{.last_reader = std::vector<std::int32_t>(count, -1),
              .kept = std::vector<std::int8_t>(count, 0),
              .picks = std::vector<std::int8_t>(count, 0)};
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
  return result;
}

bool passes_on(const ir::Graph& graph, const Uses& uses) {
  const ir::Repeat& repeat = *graph.repeat;
  const std::int32_t last = repeat.begin + (repeat.period * (repeat.count - 1));
  for (std::int32_t op = repeat.begin; op < last; ++op) {
    const std::int32_t layer = (op - repeat.begin) / repeat.period;
    const std::int32_t after_next = repeat.begin + ((layer + 2) * repeat.period);
    for (const ir::Operand& operand : graph.ops[subscript(op)].operands) {
      if (operand.access == ir::Access::Write &&
          uses.last_reader[subscript(operand.tensor)] >= after_next) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace elk::train
