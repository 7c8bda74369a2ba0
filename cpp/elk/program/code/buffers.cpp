#include "elk/program/code/buffers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/layout/layout.hpp"
#include "elk/program/code/code_positions.hpp"
#include "elk/program/code/spaces.hpp"

namespace elk::program {
namespace {

/// Collects the buffers op by op. What an op leaves is known before its readers come.
class Collector {
 public:
  Collector(const ir::Graph& graph, const chip::Chip& chip, const Table<OpId, OpPlan>& ops,
            const std::vector<Instruction>& code)
      : graph_(graph),
        chip_(chip),
        ops_(ops),
        spaces_(graph, chip, ops),
        at_(positions(graph, code)),
        last_(static_cast<std::int32_t>(code.size()) - 1),
        spread_by_(spread_by(graph, ops)) {
    out_.reserve(6 * graph.ops.size());
  }

  [[nodiscard]] std::vector<Buffer> collect() {
    for (const OpId i : graph_.ops.ids()) {
      collect_op(i);
    }
    return std::move(out_);
  }

 private:
  void append(OpId op, TensorId tensor, Role role, Bytes bytes,
              std::pair<std::int32_t, std::int32_t> life) {
    if (bytes > Bytes{0}) {
      out_.push_back({.op = op,
                      .tensor = tensor,
                      .role = role,
                      .offset = {0},
                      .bytes = bytes,
                      .from = life.first,
                      .to = life.second});
    }
  }

  void collect_op(OpId id) {
    const ir::Op& op = graph_.ops[id];
    const std::int32_t now = required(at_.execute[id], "execute", op);
    rest_inputs(id, op);
    for (const ExecuteSpace& piece : spaces_.preload(id)) {
      const TensorId tensor = op.operands[piece.operand].tensor;
      if (chip_.hbm) {
        const std::int32_t issued = required(at_.preload[id], "preload", op);
        append(id, tensor, Role::Preload, piece.bytes, {issued, now});
      } else {
        append(id, tensor, Role::Resident, piece.bytes, {0, last_});
      }
    }
    spread(id, op);
    for (const ExecuteSpace& piece : spaces_.execute(id)) {
      append(id, op.operands[piece.operand].tensor, Role::Execute, piece.bytes, {now, now});
    }
    for (const ir::Operand& operand : op.operands) {
      if (operand.access == ir::Access::Write) {
        rest(id, operand.tensor);
      }
    }
  }

  static std::int32_t required(std::int32_t position, const char* what, const ir::Op& op) {
    if (position < 0) {
      throw InternalError(text("buffers: the program has no ", what, " of ", op.name));
    }
    return position;
  }

  /// Inputs that the op is the first to read.
  void rest_inputs(OpId id, const ir::Op& op) {
    for (const OperandId k : op.operands.ids()) {
      const TensorId t = op.operands[k].tensor;
      const auto names_it = [&](const ir::Operand& x) { return x.tensor == t; };
      const auto before = op.operands.begin() + static_cast<std::ptrdiff_t>(k.value);
      if (spaces_.lives().first_reader[t] == id && spaces_.lives().producer[t] == OpId::none &&
          graph_.tensors[t].home == ir::Home::Input &&
          std::none_of(op.operands.begin(), before, names_it)) {
        rest(id, op.operands[k].tensor);
      }
    }
  }

  /// A tensor at rest, from the execute of `id` on.
  void rest(OpId id, TensorId tensor) {
    const std::int32_t from = at_.execute[id];
    const OpId last_reader = spaces_.lives().last_reader[tensor];
    const std::int32_t used =
        last_reader != OpId::none ? std::max(from, at_.execute[last_reader]) : from;
    const std::int32_t stored = at_.stored[tensor];
    append(id, tensor, stored > used ? Role::Store : Role::Activation, spaces_.rest(tensor),
           {from, std::max(used, stored)});
  }

  /// Weights and states that lie evenly over all cores: one buffer for all readers.
  void spread(OpId id, const ir::Op& op) {
    for (const OperandId k : op.operands.ids()) {
      const TensorId tensor = op.operands[k].tensor;
      if (partition::from_hbm(graph_, op.operands[k]) && spread_by_[tensor] == id) {
        append(id, tensor, Role::Resident, partition::spread_share(graph_.tensors[tensor], chip_),
               {0, last_});
        spread_by_[tensor] = OpId::none;
      }
    }
  }

  const ir::Graph& graph_;
  const chip::Chip& chip_;
  const Table<OpId, OpPlan>& ops_;
  Spaces spaces_;
  CodePositions at_;
  std::int32_t last_;
  Table<TensorId, OpId> spread_by_;  // none once it is collected
  std::vector<Buffer> out_;
};

}  // namespace

std::vector<Buffer> buffers(const ir::Graph& graph, const chip::Chip& chip,
                            const Table<OpId, OpPlan>& ops, const std::vector<Instruction>& code) {
  if (ops.size() != graph.ops.size()) {
    throw InternalError(
        text("buffers: ", ops.size(), " plans for ", graph.ops.size(), " ops of the graph"));
  }
  return Collector(graph, chip, ops, code).collect();
}

std::vector<Bytes> occupancy(const std::vector<Buffer>& buffers, std::size_t instructions) {
  std::vector<Bytes> change(instructions + 1, Bytes{0});
  for (const Buffer& buffer : buffers) {
    change[static_cast<std::size_t>(buffer.from)] += buffer.bytes;
    change[static_cast<std::size_t>(buffer.to) + 1] -= buffer.bytes;
  }
  std::vector<Bytes> used(instructions);
  Bytes sum{0};
  for (std::size_t i = 0; i < instructions; ++i) {
    sum += change[i];
    used[i] = sum;
  }
  return used;
}

}  // namespace elk::program
