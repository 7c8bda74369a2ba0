#include "elk/program/code/positions.hpp"

#include <cstddef>

namespace elk::program {

Positions positions(const ir::Graph& graph, const std::vector<Instruction>& code) {
  Positions at{.execute = std::vector<std::int32_t>(graph.ops.size(), -1),
               .preload = std::vector<std::int32_t>(graph.ops.size(), -1),
               .store = std::vector<std::int32_t>(graph.tensors.size(), -1),
               .stored = std::vector<std::int32_t>(graph.tensors.size(), -1)};
  std::int32_t over = static_cast<std::int32_t>(code.size()) - 1;
  for (std::int32_t i = over; i >= 0; --i) {
    const Instruction& instruction = code[static_cast<std::size_t>(i)];
    switch (instruction.opcode) {
      case Opcode::Preload:
        at.preload[static_cast<std::size_t>(instruction.op())] = i;
        over = at.execute[static_cast<std::size_t>(instruction.op())] >= 0 ? at.execute[static_cast<std::size_t>(instruction.op())] : over;
        break;
      case Opcode::Execute:
        at.execute[static_cast<std::size_t>(instruction.op())] = i;
        break;
      case Opcode::Store:
        at.store[static_cast<std::size_t>(instruction.tensor())] = i;
        at.stored[static_cast<std::size_t>(instruction.tensor())] = over;
        break;
    }
  }
  return at;
}

}  // namespace elk::program
