#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/partition/plan.hpp"

namespace elk::program {

enum class Opcode : std::uint8_t { Preload, Store, Execute };

/// `subject` is an op; of a Store, a tensor.
struct Instruction {
  Opcode opcode;
  std::int32_t subject;

  /// The op of a Preload or an Execute.
  [[nodiscard]] OpId op() const { return OpId{subject}; }
  /// The tensor of a Store.
  [[nodiscard]] TensorId tensor() const { return TensorId{subject}; }

  friend bool operator==(const Instruction&, const Instruction&) = default;
};

/// Calls the function that an instruction is for, with its subject.
template <class Preload, class Store, class Execute>
void follow(const Instruction& instruction, const Preload& preload, const Store& store,
            const Execute& execute) {
  switch (instruction.opcode) {
    case Opcode::Preload:
      preload(instruction.op());
      break;
    case Opcode::Store:
      store(instruction.tensor());
      break;
    case Opcode::Execute:
      execute(instruction.op());
      break;
  }
}

/// How one op runs: its cut, and how much of each weight or state a core has ahead of it.
struct OpPlan {
  partition::ExecutePlan execute;
  Table<OperandId, std::int64_t> divisor;  // per operand; 0: evenly over all cores, or not from HBM
  bool tree = false;                       // a row op adds up in a tree, not directly
  bool ring = false;  // a collective's chips exchange in a ring, not all at once

  friend bool operator==(const OpPlan&, const OpPlan&) = default;
};

enum class Role : std::uint8_t { Preload, Execute, Activation, Store, Resident };

/// Bytes on every core, alive for the instructions [from, to], both inclusive (design 7, 11).
struct Buffer {
  OpId op;
  TensorId tensor;
  Role role;
  Bytes offset;
  Bytes bytes;
  std::int32_t from;
  std::int32_t to;

  friend bool operator==(const Buffer&, const Buffer&) = default;
};

struct Program {
  Table<OpId, OpPlan> ops;
  std::vector<Instruction> code;
  std::vector<Buffer> buffers;
};

}  // namespace elk::program
