#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
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
  CoverageChecker(CheckContext& context, const Table<OpId, std::int8_t>& valid)
      : context_(context),
        graph_(context.graph),
        valid_(valid),
        spaces_(graph_, context.chip, context.program.ops),
        spread_by_(spread_by(graph_, context.program.ops)),
        by_tensor_(graph_.tensors.size()),
        execute_(graph_.ops.size(), -1),
        preload_(graph_.ops.size(), -1),
        stored_(graph_.tensors.size(), -1) {
    for (const Buffer& buffer : context.program.buffers) {
      by_tensor_[buffer.tensor].push_back(&buffer);
    }
    const std::vector<Instruction>& code = context.program.code;
    for (std::size_t i = 0; i < code.size(); ++i) {
      if (code[i].opcode != Opcode::Store) {
        (code[i].opcode == Opcode::Execute ? execute_ : preload_)[code[i].op()] =
            static_cast<std::int32_t>(i);
      }
    }
    find_ends_of_stores();
  }

  void check() {
    for (const OpId i : graph_.ops.ids()) {
      if (execute_[i] >= 0 && valid_[i] != 0) {
        check_op(i);
      }
    }
    for (const TensorId t : graph_.tensors.ids()) {
      check_rest(t);
    }
  }

 private:
  /// A store is over once a preload issued after it is over: its execute has waited for that.
  void find_ends_of_stores() {
    const std::vector<Instruction>& code = context_.program.code;
    std::vector<TensorId> under_way;
    for (const Instruction& instruction : code) {
      if (instruction.opcode == Opcode::Store) {
        under_way.push_back(instruction.tensor());
        stored_[instruction.tensor()] = static_cast<std::int32_t>(code.size()) - 1;
      } else if (instruction.opcode == Opcode::Preload) {
        for (const TensorId tensor : under_way) {
          stored_[tensor] = execute_[instruction.op()];
        }
        under_way.clear();
      }
    }
  }

  /// Bytes of a tensor in buffers of these roles that live for all of `life`. What is preloaded,
  /// fetched or kept serves one op, `reader`.
  [[nodiscard]] Bytes held(OpId reader, TensorId tensor, InstructionRange life,
                           std::initializer_list<Role> roles) const {
    Bytes sum{0};
    for (const Buffer* buffer : by_tensor_[tensor]) {
      const bool own = buffer->role != Role::Activation && buffer->role != Role::Store;
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

  void require(const std::string& who, TensorId tensor, Bytes have, Bytes need) {
    if (have < need) {
      context_.broken.push_back(text(who, ": ", named_tensor(graph_, tensor), " needs ", need.value,
                                     " bytes a core, buffers hold ", have.value));
    }
  }

  void check_op(OpId id) {
    const ir::Op& op = graph_.ops[id];
    const InstructionRange now{execute_[id], execute_[id]};
    const std::string who = text("execute of ", named(graph_, id));
    for (const auto& [tensor, need] : footprint(id)) {
      Bytes bytes =
          held(id, TensorId{tensor}, now,
               {Role::Preload, Role::Execute, Role::Activation, Role::Store, Role::Resident});
      if (spread_by_[tensor] == id) {
        bytes -= std::min(bytes, spread_share(tensor));  // lies there beside what the op needs
      }
      require(who, TensorId{tensor}, bytes, need);
    }
    if (context_.chip.hbm) {
      check_preload(id, op);
    } else {
      check_residents(id, op);
    }
    check_copies(id, who);
  }

  /// The distinct tensors of an op, and the bytes of all expressions in which it names each.
  [[nodiscard]] std::vector<std::pair<TensorId, Bytes>> footprint(OpId id) {
    const ir::Op& op = graph_.ops[id];
    std::vector<std::pair<TensorId, Bytes>> out;
    for (const OperandId k : op.operands.ids()) {
      const TensorId tensor = op.operands[k].tensor;
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

  void check_preload(OpId id, const ir::Op& op) {
    if (preload_[id] < 0) {
      return;
    }
    const InstructionRange life{preload_[id], execute_[id]};
    for (const ExecuteSpace& piece : spaces_.preload(id)) {
      const TensorId tensor = op.operands[piece.operand].tensor;
      require(text("preload of ", named(graph_, id)), tensor,
              held(id, tensor, life, {Role::Preload}), piece.bytes);
    }
  }

  /// Without HBM a core has its share of weights and states all the time.
  void check_residents(OpId id, const ir::Op& op) {
    std::map<TensorId, Bytes> needs;
    for (const ExecuteSpace& piece : spaces_.preload(id)) {
      needs[op.operands[piece.operand].tensor] += piece.bytes;
    }
    for (const ir::Operand& operand : op.operands) {
      if (spread_by_[operand.tensor] == id && !needs.contains(operand.tensor)) {
        needs[operand.tensor] = Bytes{0};
      }
    }
    const InstructionRange always{0, static_cast<std::int32_t>(context_.program.code.size()) - 1};
    for (const auto& [tensor, share] : needs) {
      const Bytes spread = spread_by_[tensor] == id ? spread_share(tensor) : Bytes{0};
      require(text("all the time for ", named(graph_, id)), tensor,
              held(id, tensor, always, {Role::Resident}), share + spread);
    }
  }

  [[nodiscard]] Bytes spread_share(TensorId tensor) const {
    return partition::spread_share(graph_.tensors[tensor], context_.chip);
  }

  /// An activation in another layout, or one that rotates, is in a buffer of this execute's own.
  void check_copies(OpId id, const std::string& who) {
    const ir::Op& op = graph_.ops[id];
    const InstructionRange now{execute_[id], execute_[id]};
    for (const OperandId k : op.operands.ids()) {
      const ir::Operand& operand = op.operands[k];
      if (operand.access == ir::Access::Read && !partition::from_hbm(graph_, operand) &&
          producer_is_valid(operand.tensor) && !spaces_.in_place(id, k)) {
        require(text(who, ", in its own layout"), operand.tensor,
                held(id, operand.tensor, now, {Role::Execute}), spaces_.sizes(id).operand[k]);
      }
    }
  }

  [[nodiscard]] bool producer_is_valid(TensorId tensor) const {
    const OpId producer = spaces_.lives().producer[tensor];
    return producer == OpId::none || (valid_[producer] != 0 && execute_[producer] >= 0);
  }

  /// A tensor on chip stays where it rests until its last reader and its store are done.
  void check_rest(TensorId tensor) {
    const OpId producer = spaces_.lives().producer[tensor];
    const OpId first = producer != OpId::none ? producer : spaces_.lives().first_reader[tensor];
    if (first == OpId::none || !producer_is_valid(tensor)) {
      return;
    }
    const Bytes need = spaces_.rest(tensor);
    const std::int32_t from = execute_[first];
    const OpId last = spaces_.lives().last_reader[tensor];
    const std::int32_t read = last != OpId::none ? execute_[last] : from;
    const InstructionRange life{from, std::max({from, read, stored_[tensor]})};
    if (from >= 0) {
      require(text("from instruction ", life.first, " to ", life.second), tensor,
              held(first, tensor, life, {Role::Activation, Role::Store}), need);
    }
  }

  CheckContext& context_;
  const ir::Graph& graph_;
  const Table<OpId, std::int8_t>& valid_;
  Spaces spaces_;
  Table<TensorId, OpId> spread_by_;
  Table<TensorId, std::vector<const Buffer*>> by_tensor_;
  Table<OpId, std::int32_t> execute_;     // of each op
  Table<OpId, std::int32_t> preload_;     // of each op
  Table<TensorId, std::int32_t> stored_;  // of each tensor: when its store is certainly over
};

}  // namespace

void check_coverage(CheckContext& context, const Table<OpId, std::int8_t>& valid) {
  CoverageChecker(context, valid).check();
}

}  // namespace elk::program
