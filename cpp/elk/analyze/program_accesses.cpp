#include "elk/analyze/program_accesses.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "elk/base/table.hpp"
#include "elk/partition/plan.hpp"
#include "elk/program/code/code_positions.hpp"

namespace elk::analyze {
namespace {

constexpr MemoryId kSram{0};

/// The first and the second of the two instructions of a list that one of a program is.
InstructionId first_of(std::int64_t position) { return id_at<InstructionId>(2 * position); }
InstructionId second_of(std::int64_t position) { return id_at<InstructionId>((2 * position) + 1); }

class ProgramReading {
 public:
  ProgramReading(const ir::Graph& graph, const program::Program& program)
      : graph_(graph), program_(program), at_(program::positions(graph, program.code)) {}

  ProgramAccesses read(Bytes room) {
    const std::size_t count = 2 * program_.code.size();
    list().issues.resize(count, 0);
    list().light.resize(count, 0);
    list().awaited.resize(count, InstructionId::none);
    list().sizes.push_back(room.value);
    for (const ir::Store& store : graph_.stores) {
      const TensorId into = store.into != TensorId::none ? store.into : store.tensor;
      if (memories_.try_emplace(into, list().sizes.end_id()).second) {
        out_.tensors.push_back(into);
        list().sizes.push_back(std::max<std::int64_t>(1, ir::bytes(graph_.tensors[into]).value));
      }
      stored_in_[store.tensor] = into;
    }
    for (const program::Buffer& buffer : program_.buffers) {
      add(buffer);
    }
    walk();
    std::stable_sort(
        list().accesses.begin(), list().accesses.end(),
        [](const MemoryAccess& a, const MemoryAccess& b) { return a.instruction < b.instruction; });
    return std::move(out_);
  }

 private:
  AccessList& list() { return out_.list; }

  static Interval<std::int64_t> range(const program::Buffer& buffer) {
    return {buffer.offset.value, (buffer.offset + buffer.bytes).value};
  }

  void add(InstructionId instruction, MemoryId memory, Interval<std::int64_t> bytes, bool writes) {
    if (!bytes.empty()) {
      list().accesses.push_back(
          {.instruction = instruction, .memory = memory, .bytes = bytes, .writes = writes});
    }
  }

  void add(const program::Buffer& buffer) {
    if (buffer.role != program::Role::Resident) {
      add(first_of(buffer.from), kSram, range(buffer), true);
    }
    add(second_of(buffer.to), kSram, range(buffer), false);
    if (buffer.role == program::Role::Activation || buffer.role == program::Role::Store) {
      rests_[buffer.tensor].push_back(&buffer);
    }
  }

  /// An instruction that issues reads a tensor where it rests on chip.
  void read_at_rest(std::int64_t position, TensorId tensor) {
    for (const program::Buffer* buffer : rests_[tensor]) {
      if (buffer->from <= position && position <= buffer->to) {
        add(first_of(position), kSram, range(*buffer), false);
      }
    }
  }

  void use(std::int64_t position, TensorId tensor, bool writes) {
    const auto memory = memories_.find(tensor);
    if (memory != memories_.end()) {
      add(first_of(position), memory->second, {0, list().sizes[memory->second]}, writes);
    }
  }

  void walk() {
    for (std::int64_t position = 0; const program::Instruction& instruction : program_.code) {
      program::follow(
          instruction,
          [&](OpId op) {
            issued(position, at_.execute[op]);
            preload(position, graph_.ops[op]);
          },
          [&](TensorId tensor) {
            issued(position, at_.stored[tensor]);
            read_at_rest(position, tensor);
            use(position, stored_in_[tensor], true);
          },
          [](OpId) {});
      ++position;
    }
  }

  /// A transfer is certainly over at instruction `over`; the last of a program may be its own.
  void issued(std::int64_t position, std::int64_t over) {
    list().issues[first_of(position)] = 1;
    if (over > position) {
      list().awaited[first_of(position)] = first_of(over);
    }
  }

  void preload(std::int64_t position, const ir::Op& op) {
    for (const ir::Operand& operand : op.operands) {
      if (partition::from_hbm(graph_, operand)) {
        use(position, operand.tensor, false);
        if (operand.indirect) {
          read_at_rest(position, operand.indirect->index);
        }
      }
    }
  }

  const ir::Graph& graph_;
  const program::Program& program_;
  program::CodePositions at_;
  std::map<TensorId, MemoryId> memories_;   // of what the program stores
  std::map<TensorId, TensorId> stored_in_;  // of each part that it stores, the tensor
  std::map<TensorId, std::vector<const program::Buffer*>> rests_;
  ProgramAccesses out_;
};

}  // namespace

ProgramAccesses accesses(const ir::Graph& graph, Bytes room, const program::Program& program) {
  return ProgramReading(graph, program).read(room);
}

}  // namespace elk::analyze
