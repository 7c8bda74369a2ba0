#include "elk/program/code/lifetimes.hpp"

#include <algorithm>
#include <cstddef>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/plan.hpp"

namespace elk::program {

Lifetimes lifetimes(const ir::Graph& graph) {
  const std::size_t tensors = graph.tensors.size();
  Lifetimes lives{.producer = Table<TensorId, OpId>(tensors, OpId::none),
                  .first_reader = Table<TensorId, OpId>(tensors, OpId::none),
                  .last_reader = Table<TensorId, OpId>(tensors, OpId::none),
                  .stored = Table<TensorId, std::int8_t>(tensors, 0)};
  for (const OpId i : graph.ops.ids()) {
    for (const ir::Operand& operand : graph.ops[i].operands) {
      const auto t = operand.tensor;
      if (operand.access == ir::Access::Write) {
        lives.producer[t] = i;
      } else {
        lives.first_reader[t] = lives.first_reader[t] == OpId::none ? i : lives.first_reader[t];
        lives.last_reader[t] = i;
      }
    }
  }
  for (const ir::Store& store : graph.stores) {
    lives.stored[store.tensor] = 1;
  }
  return lives;
}

bool has_hbm_data(const ir::Graph& graph, const ir::Op& op) {
  return std::any_of(op.operands.begin(), op.operands.end(), [&](const ir::Operand& operand) {
    return partition::from_hbm(graph, operand);
  });
}

}  // namespace elk::program
