#include "elk/program/code/buffers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/partition/layout/layout.hpp"
#include "elk/program/code/code_positions.hpp"
#include "elk/program/code/spaces.hpp"

namespace elk::program {
namespace {

/// A tensor kept on chip for the whole program, as one reader needs it.
struct KeptTensor {
  std::int32_t op;
  Bytes bytes;
  bool rotates;
  partition::Layout layout;
};

/// Collects the buffers op by op. What an op leaves is known before its readers come.
class Collector {
 public:
  Collector(const ir::Graph& graph, const chip::Chip& chip, const std::vector<OpPlan>& ops,
            const std::vector<Instruction>& code)
      : graph_(graph),
        chip_(chip),
        ops_(ops),
        spaces_(graph, chip, ops),
        at_(positions(graph, code)),
        last_(static_cast<std::int32_t>(code.size()) - 1),
        residents_(graph.tensors.size()) {
    out_.reserve(6 * graph.ops.size());
  }

  [[nodiscard]] std::vector<Buffer> collect() {
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      collect_op(static_cast<std::int32_t>(i));
    }
    return std::move(out_);
  }

 private:
  static std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

  void append(std::int32_t op, std::int32_t tensor, Role role, Bytes bytes,
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

  void collect_op(std::int32_t id) {
    const ir::Op& op = graph_.ops[index(id)];
    const std::int32_t now = required(at_.execute[index(id)], "execute", op);
    rest_inputs(id, op);
    for (const ExecuteSpace& piece : spaces_.preload(id)) {
      const std::int32_t issued = required(at_.preload[index(id)], "preload", op);
      append(id, op.operands[index(piece.operand)].tensor, Role::Preload, piece.bytes,
             {issued, now});
    }
    if (!chip_.hbm) {
      keep_resident(id, op);
    }
    for (const ExecuteSpace& piece : spaces_.execute(id)) {
      append(id, op.operands[index(piece.operand)].tensor, Role::Execute, piece.bytes, {now, now});
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

  /// Inputs that the op is the first to read. A spilled one is read from HBM.
  void rest_inputs(std::int32_t id, const ir::Op& op) {
    for (std::size_t k = 0; k < op.operands.size(); ++k) {
      const std::size_t t = index(op.operands[k].tensor);
      const auto names_it = [&](const ir::Operand& x) { return index(x.tensor) == t; };
      const auto before = op.operands.begin() + static_cast<std::ptrdiff_t>(k);
      if (spaces_.lives().first_reader[t] == id && spaces_.lives().producer[t] < 0 &&
          graph_.tensors[t].home == ir::Home::Input &&
          std::none_of(op.operands.begin(), before, names_it)) {
        rest(id, op.operands[k].tensor);
      }
    }
  }

  /// A tensor at rest, from the execute of `id` on.
  void rest(std::int32_t id, std::int32_t tensor) {
    const std::int32_t from = at_.execute[index(id)];
    const std::int32_t last_reader = spaces_.lives().last_reader[index(tensor)];
    const std::int32_t used =
        last_reader >= 0 ? std::max(from, at_.execute[index(last_reader)]) : from;
    const std::int32_t stored = at_.stored[index(tensor)];
    append(id, tensor, stored > used ? Role::Store : Role::Activation, spaces_.rest(tensor),
           {from, std::max(used, stored)});
  }

  /// Pieces of HBM operands on a chip without HBM; readers that need the same piece share it.
  void keep_resident(std::int32_t id, const ir::Op& op) {
    for (std::size_t k = 0; k < op.operands.size(); ++k) {
      if (!partition::from_hbm(graph_, op.operands[k]) || partition::first_like(op, k) != k) {
        continue;
      }
      const partition::ExecutePlan& plan = ops_[index(id)].execute;
      KeptTensor piece{.op = id,
                       .bytes = spaces_.sizes(id).operand[k],
                       .rotates = rotates(plan, k),
                       .layout = partition::layout(graph_, op, k, plan, chip_)};
      std::vector<KeptTensor>& kept = residents_[index(op.operands[k].tensor)];
      const bool shared = std::any_of(kept.begin(), kept.end(), [&](const KeptTensor& other) {
        return other.op != id && !piece.rotates && !other.rotates && other.bytes >= piece.bytes &&
               partition::same(other.layout, piece.layout);
      });
      if (!shared) {
        append(id, op.operands[k].tensor, Role::Resident, piece.bytes, {0, last_});
        kept.push_back(std::move(piece));
      }
    }
  }

  const ir::Graph& graph_;
  const chip::Chip& chip_;
  const std::vector<OpPlan>& ops_;
  Spaces spaces_;
  CodePositions at_;
  std::int32_t last_;
  std::vector<std::vector<KeptTensor>> residents_;  // by tensor
  std::vector<Buffer> out_;
};

}  // namespace

std::vector<Buffer> buffers(const ir::Graph& graph, const chip::Chip& chip,
                            const std::vector<OpPlan>& ops, const std::vector<Instruction>& code) {
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
