#include "elk/ir/chains.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "elk/base/ids.hpp"

namespace elk::ir {
namespace {

constexpr std::size_t kSpan = 64;  // ops behind the first within which a chain ends

bool in_hbm(const Tensor& tensor) {
  return tensor.home == Home::Weight || tensor.home == Home::State;
}

/// The axis that alone counts all of a dimension of `size` indices, or -1.
std::int32_t sole_axis(const Op& op, const Dim& dim, std::int64_t size) {
  const bool alone = dim.axes.size() == 1 && dim.coef.front() == 1 && dim.offset == 0 &&
                     op.axes[subscript(dim.axes.front())].size == size;
  return alone ? dim.axes.front() : -1;
}

bool is_free(const Op& op, std::int32_t axis) {
  return axis >= 0 && op.axes[subscript(axis)].role == AxisRole::Parallel;
}

/// What may not be told in parts: what leaves the graph or is stored, what a collective moves or an
/// op without a node reads, and what picks.
std::vector<char> kept_whole(const Graph& graph) {
  std::vector<char> whole(graph.tensors.size(), 0);
  for (const std::int32_t output : graph.outputs) {
    whole[subscript(output)] = 1;
  }
  for (const Store& store : graph.stores) {
    whole[subscript(store.tensor)] = 1;
  }
  for (const Op& op : graph.ops) {
    for (const Operand& operand : op.operands) {
      if (is_collective(op.kind) || operand.input < 0) {
        whole[subscript(operand.tensor)] = 1;
      }
      if (operand.indirect) {
        whole[subscript(operand.indirect->index)] = 1;
      }
    }
  }
  return whole;
}

/// What chains must heed.
struct Marks {
  const std::vector<char>& heavy;          // ops
  const std::vector<char>& whole;          // tensors that stay so
  const std::vector<std::int32_t>& taken;  // axes
};

/// Follows one axis from op to op.
class Follower {
 public:
  Follower(const Graph& graph, const Marks& marks) : graph_(graph), marks_(marks) {}

  /// The chain from `first` along `axis`, without links if the op cannot go in waves.
  Chain follow(std::size_t first, std::int32_t axis) {
    parts_.clear();
    behind_.clear();
    Chain chain{.links = {}, .length = graph_.ops[first].axes[subscript(axis)].size, .waves = 1};
    if (!join(first, axis)) {
      return chain;
    }
    chain.links.push_back({.op = static_cast<std::int32_t>(first), .axis = axis});
    std::size_t last = 1;  // links up to the last heavy op
    for (std::size_t i = first + 1; i < std::min(graph_.ops.size(), first + kSpan); ++i) {
      const auto next = reader_axis(i, chain.length);
      if (next && *next >= 0 && join(i, *next)) {
        chain.links.push_back({.op = static_cast<std::int32_t>(i), .axis = *next});
        last = marks_.heavy[i] != 0 ? chain.links.size() : last;
      } else if (next) {
        leave_behind(i);
      }
    }
    chain.links.resize(last);
    return chain;
  }

 private:
  /// The axis of op `i` that goes on along the parts that it reads; -1 where none does, nothing
  /// where it reads no part and nothing made of one outside the chain.
  [[nodiscard]] std::optional<std::int32_t> reader_axis(std::size_t i, std::int64_t length) const {
    const Op& op = graph_.ops[i];
    std::optional<std::int32_t> found;
    for (const Operand& operand : op.operands) {
      if (operand.access == Access::Read && behind_.contains(operand.tensor)) {
        return -1;
      }
      const auto part = parts_.find(operand.tensor);
      if (operand.access == Access::Read && part != parts_.end()) {
        const std::int32_t axis = sole_axis(op, operand.dims[subscript(part->second)], length);
        found = !found || *found == axis ? axis : -1;
      }
    }
    return found;
  }

  /// Notes the results of op `i` as parts along `axis`, if it can go in waves.
  bool join(std::size_t i, std::int32_t axis) {
    const Op& op = graph_.ops[i];
    const bool is_taken = !marks_.taken.empty() && marks_.taken[i] == axis;
    if (!is_free(op, axis) || is_taken || is_collective(op.kind)) {
      return false;
    }
    std::vector<std::pair<std::int32_t, std::int32_t>> made;
    for (const Operand& operand : op.operands) {
      if (operand.indirect || (marks_.heavy[i] != 0 && is_reread(operand, axis)) ||
          is_clipped(op, operand, axis)) {
        return false;
      }
      if (operand.access == Access::Write) {
        const auto dim = made_along(graph_, op, operand, axis);
        if (!dim || marks_.whole[subscript(operand.tensor)] != 0) {
          return false;
        }
        made.emplace_back(operand.tensor, *dim);
      }
    }
    parts_.insert(made.begin(), made.end());
    return true;
  }

  /// Whether `axis` counts further than the operand's tensor reaches: some wave might find nothing.
  [[nodiscard]] bool is_clipped(const Op& op, const Operand& operand, std::int32_t axis) const {
    const Tensor& tensor = graph_.tensors[subscript(operand.tensor)];
    for (std::size_t d = 0; d < operand.dims.size(); ++d) {
      const Dim& dim = operand.dims[d];
      std::int64_t last = dim.offset;
      for (std::size_t k = 0; k < dim.axes.size(); ++k) {
        last += dim.coef[k] * (op.axes[subscript(dim.axes[k])].size - 1);
      }
      if (std::ranges::find(dim.axes, axis) != dim.axes.end() &&
          (dim.offset < 0 || last >= tensor.shape[d])) {
        return true;
      }
    }
    return false;
  }

  /// Whether every wave would read the same of an operand from HBM.
  [[nodiscard]] bool is_reread(const Operand& operand, std::int32_t axis) const {
    return operand.access == Access::Read && in_hbm(graph_.tensors[subscript(operand.tensor)]) &&
           std::ranges::none_of(operand.dims, [&](const Dim& dim) {
             return std::ranges::find(dim.axes, axis) != dim.axes.end();
           });
  }

  void leave_behind(std::size_t i) {
    for (const Operand& operand : graph_.ops[i].operands) {
      if (operand.access == Access::Write) {
        behind_.insert(operand.tensor);
      }
    }
  }

  const Graph& graph_;
  Marks marks_;
  std::map<std::int32_t, std::int32_t> parts_;  // tensors that lie in parts: along which dimension
  std::set<std::int32_t> behind_;               // tensors made of parts by ops outside
};

/// The axes that are alone in a dimension of what an op reads from HBM, outermost first.
std::vector<std::int32_t> loaded_axes(const Graph& graph, const Op& op) {
  std::vector<std::int32_t> axes;
  for (const Operand& operand : op.operands) {
    const Tensor& tensor = graph.tensors[subscript(operand.tensor)];
    if (operand.access != Access::Read || !in_hbm(tensor)) {
      continue;
    }
    for (const Dim& dim : operand.dims) {
      if (dim.axes.size() == 1 && is_free(op, dim.axes.front()) &&
          std::ranges::find(axes, dim.axes.front()) == axes.end()) {
        axes.push_back(dim.axes.front());
      }
    }
  }
  return axes;
}

}  // namespace

std::optional<std::int32_t> made_along(const Graph& graph, const Op& op, const Operand& made,
                                       std::int32_t axis) {
  const Tensor& tensor = graph.tensors[subscript(made.tensor)];
  for (std::size_t d = 0; d < made.dims.size(); ++d) {
    if (sole_axis(op, made.dims[d], tensor.shape[d]) == axis) {
      return static_cast<std::int32_t>(d);
    }
  }
  return std::nullopt;
}

std::vector<Chain> chains(const Graph& graph, const std::vector<char>& heavy,
                          const std::vector<std::int32_t>& taken) {
  const std::vector<char> whole = kept_whole(graph);
  Follower follower(graph, {.heavy = heavy, .whole = whole, .taken = taken});
  std::vector<Chain> found;
  std::size_t free = 0;  // behind the last chain
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    if (heavy[i] == 0 || i < free) {
      continue;
    }
    std::optional<Chain> best;
    std::ptrdiff_t most = 0;
    for (const std::int32_t axis : loaded_axes(graph, graph.ops[i])) {
      Chain chain = follower.follow(i, axis);
      const std::ptrdiff_t count = std::ranges::count_if(
          chain.links, [&](const Chain::ChainOp& link) { return heavy[subscript(link.op)] != 0; });
      if (chain.length > 1 && count > most) {
        most = count;
        best = std::move(chain);
      }
    }
    if (best) {
      free = subscript(best->links.back().op) + 1;
      found.push_back(std::move(*best));
    }
  }
  return found;
}

}  // namespace elk::ir
