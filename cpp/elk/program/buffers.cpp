#include "elk/program/buffers.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/partition/layout.hpp"
#include "elk/program/positions.hpp"
#include "elk/program/sized_op.hpp"

namespace elk::program {
namespace {

/// A tensor kept on chip for the whole program, as one reader needs it.
struct Resident {
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
        lives_(lifetimes(graph)),
        at_(positions(graph, code)),
        last_(static_cast<std::int32_t>(code.size()) - 1),
        rest_(graph.tensors.size()),
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
    const SizedOp sized = sized_op(graph_, op, ops_[index(id)], chip_);
    const std::int32_t now = required(at_.execute[index(id)], "execute", op);
    rest_inputs(id, op);
    for (const ExecuteSpace& piece : preload_space(sized)) {
      const std::int32_t issued = required(at_.preload[index(id)], "preload", op);
      append(id, op.operands[index(piece.operand)].tensor, Role::Preload, piece.bytes,
             {issued, now});
    }
    if (!chip_.hbm) {
      keep_resident(id, sized);
    }
    for (const ExecuteSpace& piece : execute_space(sized, layouts_of_operands(op))) {
      append(id, op.operands[index(piece.operand)].tensor, Role::Execute, piece.bytes, {now, now});
    }
    rest_results(id, sized);
  }

  static std::int32_t required(std::int32_t position, const char* what, const ir::Op& op) {
    if (position < 0) {
      throw InternalError(text("buffers: the program has no ", what, " of ", op.name));
    }
    return position;
  }

  [[nodiscard]] std::vector<const partition::Layout*> layouts_of_operands(const ir::Op& op) const {
    std::vector<const partition::Layout*> have(op.operands.size(), nullptr);
    for (std::size_t k = 0; k < op.operands.size(); ++k) {
      const std::optional<partition::Layout>& layout = rest_[index(op.operands[k].tensor)];
      if (layout && op.operands[k].access == ir::Access::Read && !op.operands[k].spilled) {
        have[k] = &*layout;
      }
    }
    return have;
  }

  void rest_inputs(std::int32_t id, const ir::Op& op) {
    for (const ir::Operand& operand : op.operands) {
      const std::size_t t = index(operand.tensor);
      if (lives_.first_reader[t] == id && lives_.producer[t] < 0 && !rest_[t] &&
          graph_.tensors[t].home == ir::Home::Input) {
        rest(id, operand.tensor, input_space(graph_.tensors[t], chip_));
      }
    }
  }

  void rest_results(std::int32_t id, const SizedOp& sized) {
    for (const ir::Operand& operand : sized.op.operands) {
      if (operand.access == ir::Access::Write) {
        rest(id, operand.tensor, rest_of(sized, operand.tensor));
      }
    }
  }

  /// A tensor at rest, from the execute of `id` on.
  void rest(std::int32_t id, std::int32_t tensor, Bytes bytes) {
    const std::int32_t from = at_.execute[index(id)];
    std::int32_t used = from;
    if (lives_.last_reader[index(tensor)] >= 0) {
      const std::int32_t reader = at_.execute[index(lives_.last_reader[index(tensor)])];
      used = std::max(used, reader);
      rest_[index(tensor)] = rest_layout(graph_, tensor, ops_, lives_, chip_);
    }
    const std::int32_t stored = at_.stored[index(tensor)];
    append(id, tensor, stored > used ? Role::Store : Role::Activation, bytes,
           {from, std::max(used, stored)});
  }

  /// Pieces of HBM operands on a chip without HBM; readers that need the same piece share it.
  void keep_resident(std::int32_t id, const SizedOp& sized) {
    for (std::size_t i = 0; i < sized.footprint.tensors.size(); ++i) {
      const std::int32_t tensor = sized.footprint.tensors[i];
      std::size_t k = 0;
      while (sized.op.operands[k].tensor != tensor) {
        ++k;
      }
      if (!from_hbm(graph_, sized.op.operands[k])) {
        continue;
      }
      Resident piece{.bytes = sized.footprint.tensor[i],
                     .rotates = rotates(sized.plan.execute, k),
                     .layout = partition::layout(graph_, sized.op, k, sized.plan.execute, chip_)};
      std::vector<Resident>& kept = residents_[index(tensor)];
      const bool shared = std::any_of(kept.begin(), kept.end(), [&](const Resident& other) {
        return !piece.rotates && !other.rotates && other.bytes >= piece.bytes &&
               partition::same(other.layout, piece.layout);
      });
      if (!shared) {
        append(id, tensor, Role::Resident, piece.bytes, {0, last_});
        kept.push_back(std::move(piece));
      }
    }
  }

  const ir::Graph& graph_;
  const chip::Chip& chip_;
  const std::vector<OpPlan>& ops_;
  Lifetimes lives_;
  Positions at_;
  std::int32_t last_;
  std::vector<std::optional<partition::Layout>> rest_;  // layouts of tensors with readers
  std::vector<std::vector<Resident>> residents_;        // by tensor
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
