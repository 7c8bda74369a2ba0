#include "elk/program/code/lifetimes.hpp"

#include <algorithm>
#include <cstddef>

#include "elk/partition/plan.hpp"

namespace elk::program {

Lifetimes lifetimes(const ir::Graph& graph) {
  const std::size_t tensors = graph.tensors.size();
  Lifetimes lives{.producer = std::vector<std::int32_t>(tensors, -1),
                  .first_reader = std::vector<std::int32_t>(tensors, -1),
                  .last_reader = std::vector<std::int32_t>(tensors, -1),
                  .stored = std::vector<std::int8_t>(tensors, 0)};
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    for (const ir::Operand& operand : graph.ops[i].operands) {
      const auto t = static_cast<std::size_t>(operand.tensor);
      if (operand.access == ir::Access::Write) {
        lives.producer[t] = id;
      } else if (!operand.spilled) {
        lives.first_reader[t] = lives.first_reader[t] < 0 ? id : lives.first_reader[t];
        lives.last_reader[t] = id;
      }
    }
  }
  for (const ir::Store& store : graph.stores) {
    lives.stored[static_cast<std::size_t>(store.tensor)] = 1;
  }
  return lives;
}

bool has_hbm_data(const ir::Graph& graph, const ir::Op& op) {
  return std::any_of(op.operands.begin(), op.operands.end(), [&](const ir::Operand& operand) {
    return partition::from_hbm(graph, operand);
  });
}

}  // namespace elk::program
