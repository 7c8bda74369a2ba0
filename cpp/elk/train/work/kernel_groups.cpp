#include "elk/train/work/kernel_groups.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "elk/base/table.hpp"

namespace elk::train {
namespace {

/// The activation that a product reads beside a weight; none if there is no such pair.
std::optional<TensorId> shared_activation(const ir::Graph& graph, const ir::Op& op) {
  if (op.kind != ir::OpKind::MatMul || op.operands.size() != 3) {
    return std::nullopt;
  }
  const TensorId activation = op.operands[OperandId{0}].tensor;
  const bool pair = graph.tensors[op.operands[OperandId{1}].tensor].home == ir::Home::Weight &&
                    graph.tensors[activation].home != ir::Home::Weight;
  return pair ? std::optional(activation) : std::nullopt;
}

/// Whether two products of one activation differ in the columns of their weights alone.
bool are_siblings(const ir::Op& a, const OpCut& cut_a, const ir::Op& b, const OpCut& cut_b) {
  if (a.axes.size() != b.axes.size() || cut_a != cut_b) {
    return false;
  }
  return std::ranges::equal(a.axes, b.axes, [](const ir::Axis& x, const ir::Axis& y) {
    return x.tile_dim == y.tile_dim && (x.tile_dim == ir::TileDim::N || x.size == y.size);
  });
}

std::int64_t local_elements(const ir::Op& op, const OpCut& cut) {
  std::int64_t elements = 1;
  for (const std::int64_t size : local_sizes(op, cut)) {
    elements *= size;
  }
  return elements;
}

/// Groups of which only products have several ops: those that share an activation.
class SiblingGroups {
 public:
  SiblingGroups(const ir::Graph& graph, const TensorParallel& cuts) : graph_(graph), cuts_(cuts) {}

  void add(OpId id) {
    const ir::Op& op = graph_.ops[id];
    if (KernelGroup* joined = sibling(id)) {
      joined->ops.push_back(id);
      return;
    }
    const bool product = op.kind == ir::OpKind::MatMul || op.kind == ir::OpKind::Conv;
    const GroupKind other = is_elementwise(op) ? GroupKind::Elementwise : GroupKind::Other;
    if (const std::optional<TensorId> activation = shared_activation(graph_, op)) {
      readers_[*activation].push_back(groups_.size());
    }
    groups_.push_back({.ops = {id}, .kind = product ? GroupKind::Products : other});
  }

  [[nodiscard]] std::vector<KernelGroup> take() { return std::move(groups_); }

 private:
  /// The group that a product joins; null if there is none.
  [[nodiscard]] KernelGroup* sibling(OpId id) {
    const std::optional<TensorId> activation = shared_activation(graph_, graph_.ops[id]);
    if (!activation) {
      return nullptr;
    }
    for (const std::size_t place : readers_[*activation]) {
      const OpId first = groups_[place].ops.front();
      if (are_siblings(graph_.ops[first], cuts_.ops[first], graph_.ops[id], cuts_.ops[id])) {
        return &groups_[place];
      }
    }
    return nullptr;
  }

  const ir::Graph& graph_;
  const TensorParallel& cuts_;
  std::vector<KernelGroup> groups_;
  std::map<TensorId, std::vector<std::size_t>> readers_;  // groups of products, by activation
};

}  // namespace

bool is_elementwise(const ir::Op& op) {
  return op.kind == ir::OpKind::Elementwise || op.function == "random";
}

std::int64_t reads_of(const ir::Op& op) {
  return std::ranges::count(op.operands, ir::Access::Read, &ir::Operand::access);
}

std::string_view kernel_of(const ir::Op& op) {
  return std::string_view(op.function).substr(0, op.function.find('/'));
}

bool passes_gradients(const ir::Op& op) {
  static const std::set<std::string_view> sums = {"add", "sub", "cast", "copy", "identity"};
  return sums.contains(kernel_of(op));
}

bool is_linear(const ir::Op& op) {
  const std::string_view base = kernel_of(op);
  const bool by_number = (base == "mul" || base == "div") && reads_of(op) == 1 &&
                         (base == "mul" || op.constants != std::vector<std::int32_t>{0});
  return passes_gradients(op) || base == "neg" || by_number;
}

std::vector<KernelGroup> kernel_groups(const ir::Graph& graph, const TensorParallel& cuts,
                                       std::span<const OpId> ops) {
  SiblingGroups siblings(graph, cuts);
  for (const OpId id : ops) {
    siblings.add(id);
  }
  std::vector<KernelGroup> groups;
  std::int64_t elements = -1;  // of the last group, if it is elementwise
  for (KernelGroup& group : siblings.take()) {
    const OpId id = group.ops.front();
    const bool elementwise = group.kind == GroupKind::Elementwise;
    const std::int64_t here = elementwise ? local_elements(graph.ops[id], cuts.ops[id]) : -1;
    if (elementwise && here == elements) {
      groups.back().ops.push_back(id);
    } else {
      groups.push_back(std::move(group));
    }
    elements = here;
  }
  return groups;
}

}  // namespace elk::train
