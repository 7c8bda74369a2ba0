#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <utility>

#include "elk/base/text.hpp"
#include "elk/partition/plan.hpp"
#include "elk/program/check/rules.hpp"
#include "elk/program/code/spaces.hpp"

namespace elk::program {
namespace {

/// Instructions [from, to], both inclusive.
using InstructionRange = std::pair<std::int32_t, std::int32_t>;

class CoverageChecker {
 public:
  CoverageChecker(CheckContext& context, const std::vector<std::int8_t>& valid)
      : context_(context),
        graph_(context.graph),
        valid_(valid),
        spaces_(graph_, context.chip, context.program.ops),
        by_tensor_(graph_.tensors.size()),
        execute_(graph_.ops.size(), -1),
        preload_(graph_.ops.size(), -1),
        stored_(graph_.tensors.size(), -1) {
    for (const Buffer& buffer : context.program.buffers) {
      by_tensor_[index(buffer.tensor)].push_back(&buffer);
    }
    const std::vector<Instruction>& code = context.program.code;
    for (std::size_t i = 0; i < code.size(); ++i) {
      if (code[i].opcode != Opcode::Store) {
        (code[i].opcode == Opcode::Execute ? execute_ : preload_)[index(code[i].subject)] =
            static_cast<std::int32_t>(i);
      }
    }
    find_ends_of_stores();
  }

  void check() {
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      if (execute_[i] >= 0 && valid_[i] != 0) {
        check_op(static_cast<std::int32_t>(i));
      }
    }
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
      check_rest(static_cast<std::int32_t>(t));
    }
  }

 private:
  static std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

  /// A store is over once a preload issued after it is over: its execute has waited for that.
  void find_ends_of_stores() {
    const std::vector<Instruction>& code = context_.program.code;
    std::vector<std::int32_t> under_way;
    for (const Instruction& instruction : code) {
      if (instruction.opcode == Opcode::Store) {
        under_way.push_back(instruction.subject);
        stored_[index(instruction.subject)] = static_cast<std::int32_t>(code.size()) - 1;
      } else if (instruction.opcode == Opcode::Preload) {
        for (const std::int32_t tensor : under_way) {
          stored_[index(tensor)] = execute_[index(instruction.subject)];
        }
        under_way.clear();
      }
    }
  }

  /// Bytes of a tensor in buffers of these roles that live for all of `life`. What is preloaded or
  /// fetched serves one op, `reader`.
  [[nodiscard]] Bytes held(std::int32_t reader, std::int32_t tensor, InstructionRange life,
                           std::initializer_list<Role> roles) const {
    Bytes sum{0};
    for (const Buffer* buffer : by_tensor_[index(tensor)]) {
      const bool own = buffer->role == Role::Preload || buffer->role == Role::Execute;
      if (own && buffer->op != reader) {
        continue;
      }
      if (buffer->from <= life.first && buffer->to >= life.second &&
          std::find(roles.begin(), roles.end(), buffer->role) != roles.end()) {
        sum += buffer->bytes;
      }
    }
    return sum;
  }

  void require(const std::string& who, std::int32_t tensor, Bytes have, Bytes need) {
    if (have < need) {
      context_.broken.push_back(text(who, ": ", named_tensor(graph_, tensor), " needs ", need.value,
                                     " bytes a core, buffers hold ", have.value));
    }
  }

  void check_op(std::int32_t id) {
    const ir::Op& op = graph_.ops[index(id)];
    const InstructionRange now{execute_[index(id)], execute_[index(id)]};
    const std::string who = text("execute of ", named(graph_, id));
    for (const auto& [tensor, need] : footprint(id)) {
      const Bytes bytes =
          held(id, tensor, now,
               {Role::Preload, Role::Execute, Role::Activation, Role::Store, Role::Resident});
      require(who, tensor, bytes, need);
    }
    check_preload(id, op);
    check_copies(id, who);
  }

  /// The distinct tensors of an op, and the bytes of all expressions in which it names each.
  [[nodiscard]] std::vector<std::pair<std::int32_t, Bytes>> footprint(std::int32_t id) {
    const ir::Op& op = graph_.ops[index(id)];
    std::vector<std::pair<std::int32_t, Bytes>> out;
    for (std::size_t k = 0; k < op.operands.size(); ++k) {
      const std::int32_t tensor = op.operands[k].tensor;
      auto found = std::find_if(out.begin(), out.end(),
                                [&](const auto& entry) { return entry.first == tensor; });
      if (found == out.end()) {
        found = out.insert(found, {tensor, Bytes{0}});
      }
      if (partition::first_like(op, k) == k) {
        found->second += spaces_.sizes(id).operand[k];
      }
    }
    return out;
  }

  void check_preload(std::int32_t id, const ir::Op& op) {
    if (preload_[index(id)] < 0) {
      return;
    }
    const InstructionRange life{preload_[index(id)], execute_[index(id)]};
    for (const ExecuteSpace& piece : spaces_.preload(id)) {
      const std::int32_t tensor = op.operands[index(piece.operand)].tensor;
      require(text("preload of ", named(graph_, id)), tensor,
              held(id, tensor, life, {Role::Preload}), piece.bytes);
    }
  }

  /// An activation in another layout, or one that rotates, is in a buffer of this execute's own.
  void check_copies(std::int32_t id, const std::string& who) {
    const ir::Op& op = graph_.ops[index(id)];
    const InstructionRange now{execute_[index(id)], execute_[index(id)]};
    for (std::size_t k = 0; k < op.operands.size(); ++k) {
      const ir::Operand& operand = op.operands[k];
      if (operand.access == ir::Access::Read && !partition::from_hbm(graph_, operand) &&
          producer_is_valid(operand.tensor) && !spaces_.in_place(id, k)) {
        require(text(who, ", in its own layout"), operand.tensor,
                held(id, operand.tensor, now, {Role::Execute}), spaces_.sizes(id).operand[k]);
      }
    }
  }

  [[nodiscard]] bool producer_is_valid(std::int32_t tensor) const {
    const std::int32_t producer = spaces_.lives().producer[index(tensor)];
    return producer < 0 || (valid_[index(producer)] != 0 && execute_[index(producer)] >= 0);
  }

  /// A tensor on chip stays where it rests until its last reader and its store are done.
  void check_rest(std::int32_t tensor) {
    const std::size_t t = index(tensor);
    const std::int32_t producer = spaces_.lives().producer[t];
    const std::int32_t first = producer >= 0 ? producer : spaces_.lives().first_reader[t];
    if (first < 0 || !producer_is_valid(tensor)) {
      return;
    }
    const Bytes need = spaces_.rest(tensor);
    const std::int32_t from = execute_[index(first)];
    const std::int32_t last = spaces_.lives().last_reader[t];
    const std::int32_t read = last >= 0 ? execute_[index(last)] : from;
    const InstructionRange life{from, std::max({from, read, stored_[t]})};
    if (from >= 0) {
      require(text("from instruction ", life.first, " to ", life.second), tensor,
              held(first, tensor, life, {Role::Activation, Role::Store}), need);
    }
  }

  CheckContext& context_;
  const ir::Graph& graph_;
  const std::vector<std::int8_t>& valid_;
  Spaces spaces_;
  std::vector<std::vector<const Buffer*>> by_tensor_;
  std::vector<std::int32_t> execute_;  // of each op
  std::vector<std::int32_t> preload_;  // of each op
  std::vector<std::int32_t> stored_;   // of each tensor: when its store is certainly over
};

}  // namespace

void check_coverage(CheckContext& context, const std::vector<std::int8_t>& valid) {
  CoverageChecker(context, valid).check();
}

}  // namespace elk::program
