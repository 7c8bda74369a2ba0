#include "elk/program/code/code_positions.hpp"

#include <cstddef>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"

namespace elk::program {

CodePositions positions(const ir::Graph& graph, const std::vector<Instruction>& code) {
  CodePositions at{.execute = Table<OpId, std::int32_t>(graph.ops.size(), -1),
                   .preload = Table<OpId, std::int32_t>(graph.ops.size(), -1),
                   .store = Table<TensorId, std::int32_t>(graph.tensors.size(), -1),
                   .stored = Table<TensorId, std::int32_t>(graph.tensors.size(), -1)};
  std::int32_t over = static_cast<std::int32_t>(code.size()) - 1;
  for (std::int32_t i = over; i >= 0; --i) {
    const Instruction& instruction = code[static_cast<std::size_t>(i)];
    switch (instruction.opcode) {
      case Opcode::Preload:
        at.preload[instruction.op()] = i;
        over = at.execute[instruction.op()] >= 0 ? at.execute[instruction.op()] : over;
        break;
      case Opcode::Execute:
        at.execute[instruction.op()] = i;
        break;
      case Opcode::Store:
        at.store[instruction.tensor()] = i;
        at.stored[instruction.tensor()] = over;
        break;
    }
  }
  return at;
}

}  // namespace elk::program
