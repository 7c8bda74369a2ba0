#include "elk/train/work/kernel_groups.hpp"

#include <algorithm>
#include <map>
#include <optional>

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

}  // namespace

bool is_elementwise(const ir::Op& op) {
  return op.kind == ir::OpKind::Elementwise || op.function == "random";
}

std::vector<KernelGroup> kernel_groups(const ir::Graph& graph, const TensorParallel& cuts,
                                       std::span<const OpId> ops) {
  std::vector<KernelGroup> products_first;
  std::map<TensorId, std::vector<std::size_t>> readers;  // groups of products, by activation
  for (const OpId id : ops) {
    const ir::Op& op = graph.ops[id];
    const std::optional<TensorId> activation = shared_activation(graph, op);
    KernelGroup* joined = nullptr;
    if (activation) {
      for (const std::size_t place : readers[*activation]) {
        const OpId first = products_first[place].ops.front();
        if (are_siblings(graph.ops[first], cuts.ops[first], op, cuts.ops[id])) {
          joined = &products_first[place];
        }
      }
      if (joined == nullptr) {
        readers[*activation].push_back(products_first.size());
      }
    }
    if (joined != nullptr) {
      joined->ops.push_back(id);
      continue;
    }
    const bool product = op.kind == ir::OpKind::MatMul || op.kind == ir::OpKind::Conv;
    const GroupKind other = is_elementwise(op) ? GroupKind::Elementwise : GroupKind::Other;
    products_first.push_back({.ops = {id}, .kind = product ? GroupKind::Products : other});
  }
  std::vector<KernelGroup> groups;
  std::int64_t elements = -1;  // of the last group, if it is elementwise
  for (KernelGroup& group : products_first) {
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
