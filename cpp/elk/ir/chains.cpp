#include "elk/ir/chains.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/ir_tuning.hpp"

namespace elk::ir {
namespace {

bool in_hbm(const Tensor& tensor) {
  return tensor.home == Home::Weight || tensor.home == Home::State;
}

/// The axis that alone counts all of a dimension of `size` indices, or -1.
AxisId sole_axis(const Op& op, const Dim& dim, std::int64_t size) {
  const bool alone = dim.axes.size() == 1 && dim.coef.front() == 1 && dim.offset == 0 &&
                     op.axes[dim.axes.front()].size == size;
  return alone ? dim.axes.front() : AxisId::none;
}

bool is_free(const Op& op, AxisId axis) {
  return axis != AxisId::none && op.axes[axis].role == AxisRole::Parallel;
}

/// What may not be told in parts: what leaves the graph or is stored, what a collective moves or an
/// op without a node reads, what picks, and what covers others by a mask.
Table<TensorId, char> kept_whole(const Graph& graph) {
  Table<TensorId, char> whole(graph.tensors.size(), 0);
  for (const TensorId output : graph.outputs) {
    whole[output] = 1;
  }
  for (const Store& store : graph.stores) {
    whole[store.tensor] = 1;
  }
  for (const Op& op : graph.ops) {
    for (const Operand& operand : op.operands) {
      if (is_collective(op.kind) || operand.input < 0 || operand.covers) {
        whole[operand.tensor] = 1;
      }
      if (operand.indirect) {
        whole[operand.indirect->index] = 1;
      }
    }
  }
  return whole;
}

/// What chains must heed.
struct Marks {
  const Table<OpId, char>& heavy;      // ops
  const Table<TensorId, char>& whole;  // tensors that stay so
  const Table<OpId, AxisId>& taken;    // axes
};

/// Follows one axis from op to op.
class Follower {
 public:
  Follower(const Graph& graph, const Marks& marks) : graph_(graph), marks_(marks) {}

  /// The chain from `first` along `axis`, without links if the op cannot go in waves.
  Chain follow(OpId first, AxisId axis) {
    parts_.clear();
    behind_.clear();
    Chain chain{.links = {}, .length = graph_.ops[first].axes[axis].size, .waves = 1};
    if (!join(first, axis)) {
      return chain;
    }
    chain.links.push_back({.op = first, .axis = axis});
    std::size_t last = 1;  // links up to the last heavy op
    for (OpId i = first + 1;
         i.index() < std::min(graph_.ops.size(), first.index() + tuning::kChainSpan); ++i) {
      const auto next = reader_axis(i, chain.length);
      if (next && *next != AxisId::none && join(i, *next)) {
        chain.links.push_back({.op = i, .axis = *next});
        last = marks_.heavy[i] != 0 ? chain.links.size() : last;
      } else if (next) {
        leave_behind(i);
      }
    }
    chain.links.resize(last);
    return chain;
  }

  /// The chains through all ops along these dimensions, and along those of results that go on.
  std::vector<Chain> follow_all(std::map<TensorId, DimId> along) {
    std::vector<Chain> found;
    bool open = false;  // whether the last chain goes on
    for (const OpId i : graph_.ops.ids()) {
      const std::optional<AxisId> axis = axis_along(i, along);
      if (!axis) {
        continue;
      }
      if (*axis != AxisId::none && join(i, *axis)) {
        if (!open) {
          found.push_back({.links = {}, .length = graph_.ops[i].axes[*axis].size, .waves = 1});
        }
        open = true;
        found.back().links.push_back({.op = i, .axis = *axis});
      } else if (reads_part(i)) {
        parts_.clear();
        open = false;
      }
      add_made(i, *axis, along);
    }
    return found;
  }

 private:
  /// The axis of op `i` that alone counts these dimensions of all that it reads, -1 where there is
  /// none, nothing where it reads no such dimension.
  [[nodiscard]] std::optional<AxisId> axis_along(OpId i,
                                                 const std::map<TensorId, DimId>& along) const {
    std::optional<AxisId> axis;
    for (const Operand& operand : graph_.ops[i].operands) {
      const auto found = along.find(operand.tensor);
      if (operand.access == Access::Read && found != along.end()) {
        const DimId dim = found->second;
        const AxisId next =
            sole_axis(graph_.ops[i], operand.dims[dim], graph_.tensors[operand.tensor].shape[dim]);
        axis = !axis || *axis == next ? next : AxisId::none;
      }
    }
    return axis;
  }

  [[nodiscard]] bool reads_part(OpId i) const {
    return std::ranges::any_of(graph_.ops[i].operands, [&](const Operand& operand) {
      return operand.access == Access::Read && parts_.contains(operand.tensor);
    });
  }

  /// Adds the dimensions of the results of op `i` that `axis` alone counts.
  void add_made(OpId i, AxisId axis, std::map<TensorId, DimId>& along) const {
    for (const Operand& operand : graph_.ops[i].operands) {
      if (axis != AxisId::none && operand.access == Access::Write) {
        if (const auto dim = made_along(graph_, graph_.ops[i], operand, axis)) {
          along.emplace(operand.tensor, *dim);
        }
      }
    }
  }

  /// The axis of op `i` that goes on along the parts that it reads; -1 where none does, nothing
  /// where it reads no part and nothing made of one outside the chain.
  [[nodiscard]] std::optional<AxisId> reader_axis(OpId i, std::int64_t length) const {
    const Op& op = graph_.ops[i];
    std::optional<AxisId> found;
    for (const Operand& operand : op.operands) {
      if (operand.access == Access::Read && behind_.contains(operand.tensor)) {
        return AxisId::none;
      }
      const auto part = parts_.find(operand.tensor);
      if (operand.access == Access::Read && part != parts_.end()) {
        const AxisId axis = sole_axis(op, operand.dims[part->second], length);
        found = !found || *found == axis ? axis : AxisId::none;
      }
    }
    return found;
  }

  /// Notes the results of op `i` as parts along `axis`, if it can go in waves.
  bool join(OpId i, AxisId axis) {
    const Op& op = graph_.ops[i];
    const bool is_taken = !marks_.taken.empty() && marks_.taken[i] == axis;
    if (!is_free(op, axis) || is_taken || is_collective(op.kind)) {
      return false;
    }
    std::vector<std::pair<TensorId, DimId>> made;
    for (const Operand& operand : op.operands) {
      if (operand.indirect || (marks_.heavy[i] != 0 && is_reread(operand, axis)) ||
          is_clipped(op, operand, axis)) {
        return false;
      }
      if (operand.access == Access::Write) {
        const auto dim = made_along(graph_, op, operand, axis);
        if (!dim || marks_.whole[operand.tensor] != 0) {
          return false;
        }
        made.emplace_back(operand.tensor, *dim);
      }
    }
    parts_.insert(made.begin(), made.end());
    return true;
  }

  /// Whether `axis` counts further than the operand's tensor reaches: some wave might find nothing.
  [[nodiscard]] bool is_clipped(const Op& op, const Operand& operand, AxisId axis) const {
    const Tensor& tensor = graph_.tensors[operand.tensor];
    for (const DimId d : operand.dims.ids()) {
      const Dim& dim = operand.dims[d];
      std::int64_t last = dim.offset;
      for (std::size_t k = 0; k < dim.axes.size(); ++k) {
        last += dim.coef[k] * (op.axes[dim.axes[k]].size - 1);
      }
      if (std::ranges::find(dim.axes, axis) != dim.axes.end() &&
          (dim.offset < 0 || last >= tensor.shape[d])) {
        return true;
      }
    }
    return false;
  }

  /// Whether every wave would read the same of an operand from HBM.
  [[nodiscard]] bool is_reread(const Operand& operand, AxisId axis) const {
    return operand.access == Access::Read && in_hbm(graph_.tensors[operand.tensor]) &&
           std::ranges::none_of(operand.dims, [&](const Dim& dim) {
             return std::ranges::find(dim.axes, axis) != dim.axes.end();
           });
  }

  void leave_behind(OpId i) {
    for (const Operand& operand : graph_.ops[i].operands) {
      if (operand.access == Access::Write) {
        behind_.insert(operand.tensor);
      }
    }
  }

  const Graph& graph_;
  Marks marks_;
  std::map<TensorId, DimId> parts_;  // tensors that lie in parts: along which dimension
  std::set<TensorId> behind_;        // tensors made of parts by ops outside
};

/// The axes that are alone in a dimension of what an op reads from HBM, outermost first.
std::vector<AxisId> loaded_axes(const Graph& graph, const Op& op) {
  std::vector<AxisId> axes;
  for (const Operand& operand : op.operands) {
    const Tensor& tensor = graph.tensors[operand.tensor];
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

/// The leading dimension of every input that is as long as that of the largest one.
std::map<TensorId, DimId> batch_dims(const Graph& graph) {
  std::map<TensorId, DimId> result;
  std::int64_t most = 0;
  std::int64_t length = 0;
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.home == Home::Input && !tensor.shape.empty() && bytes(tensor).value > most) {
      most = bytes(tensor).value;
      length = tensor.shape[DimId{0}];
    }
  }
  for (const TensorId t : graph.tensors.ids()) {
    const Tensor& tensor = graph.tensors[t];
    if (tensor.home == Home::Input && !tensor.shape.empty() && tensor.shape[DimId{0}] == length) {
      result.emplace(t, DimId{0});
    }
  }
  return result;
}

}  // namespace

std::vector<Chain> batch_chains(const Graph& graph, const Table<OpId, AxisId>& taken) {
  const Table<TensorId, char> whole = kept_whole(graph);
  const Table<OpId, char> light(graph.ops.size(), 0);
  Follower follower(graph, {.heavy = light, .whole = whole, .taken = taken});
  return follower.follow_all(batch_dims(graph));
}

std::optional<DimId> made_along(const Graph& graph, const Op& op, const Operand& made,
                                AxisId axis) {
  const Tensor& tensor = graph.tensors[made.tensor];
  for (const DimId d : made.dims.ids()) {
    if (sole_axis(op, made.dims[d], tensor.shape[d]) == axis) {
      return d;
    }
  }
  return std::nullopt;
}

std::vector<Chain> chains(const Graph& graph, const Table<OpId, char>& heavy,
                          const Table<OpId, AxisId>& taken) {
  const Table<TensorId, char> whole = kept_whole(graph);
  Follower follower(graph, {.heavy = heavy, .whole = whole, .taken = taken});
  std::vector<Chain> found;
  OpId free{0};  // behind the last chain
  for (const OpId i : graph.ops.ids()) {
    if (heavy[i] == 0 || i < free) {
      continue;
    }
    std::optional<Chain> best;
    std::ptrdiff_t most = 0;
    for (const AxisId axis : loaded_axes(graph, graph.ops[i])) {
      Chain chain = follower.follow(i, axis);
      const std::ptrdiff_t count = std::ranges::count_if(
          chain.links, [&](const Chain::ChainOp& link) { return heavy[link.op] != 0; });
      if (chain.length > 1 && count > most) {
        most = count;
        best = std::move(chain);
      }
    }
    if (best) {
      free = best->links.back().op + 1;
      found.push_back(std::move(*best));
    }
  }
  return found;
}

}  // namespace elk::ir
