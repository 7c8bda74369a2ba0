#include "elk/program/code/code_positions.hpp"

#include <cstddef>

namespace elk::program {

CodePositions positions(const ir::Graph& graph, const std::vector<Instruction>& code) {
  CodePositions at{.execute = std::vector<std::int32_t>(graph.ops.size(), -1),
                   .preload = std::vector<std::int32_t>(graph.ops.size(), -1),
                   .store = std::vector<std::int32_t>(graph.tensors.size(), -1),
                   .stored = std::vector<std::int32_t>(graph.tensors.size(), -1)};
  std::int32_t over = static_cast<std::int32_t>(code.size()) - 1;
  for (std::int32_t i = over; i >= 0; --i) {
    const Instruction& instruction = code[static_cast<std::size_t>(i)];
    const auto subject = static_cast<std::size_t>(instruction.subject);
    switch (instruction.opcode) {
      case Opcode::Preload:
        at.preload[subject] = i;
        over = at.execute[subject] >= 0 ? at.execute[subject] : over;
        break;
      case Opcode::Execute:
        at.execute[subject] = i;
        break;
      case Opcode::Store:
        at.store[subject] = i;
        at.stored[subject] = over;
        break;
    }
  }
  return at;
}

}  // namespace elk::program
