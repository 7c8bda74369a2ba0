#include "elk/program/code/issue.hpp"

#include <cstddef>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"

namespace elk::program {

std::vector<Instruction> issue(const ir::Graph& graph, const std::vector<OpId>& preload_order,
                               const Table<OpId, std::int32_t>& issued_before) {
  if (issued_before.size() != graph.ops.size()) {
    throw InternalError(
        text("issue: preload numbers for ", issued_before.size(), " ops, not ", graph.ops.size()));
  }
  Table<OpId, std::vector<TensorId>> stores(graph.ops.size());
  for (const ir::Store& store : graph.stores) {
    stores[store.op].push_back(store.tensor);
  }
  std::vector<Instruction> code;
  code.reserve(graph.ops.size() + preload_order.size() + graph.stores.size());
  std::size_t next = 0;
  for (const OpId op : graph.ops.ids()) {
    for (; next < preload_order.size() && static_cast<std::int32_t>(next) < issued_before[op];
         ++next) {
      code.push_back({.opcode = Opcode::Preload, .subject = preload_order[next].value});
    }
    code.push_back({.opcode = Opcode::Execute, .subject = op.value});
    for (const TensorId tensor : stores[op]) {
      code.push_back({.opcode = Opcode::Store, .subject = tensor.value});
    }
  }
  return code;
}

}  // namespace elk::program
