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
#include "elk/ir/touched.hpp"

namespace elk::ir {
namespace {

/// The axis that alone counts all of a dimension of `size` indices, or -1.
AxisId sole_axis(const Op& op, const Dim& dim, std::int64_t size) {
  const bool alone = dim.axes.size() == 1 && dim.coef.front() == 1 && dim.offset == 0 &&
                     op.axes[dim.axes.front()].size == size;
  return alone ? dim.axes.front() : AxisId::none;
}

bool is_free(const Op& op, AxisId axis) {
  return axis != AxisId::none && op.axes[axis].role == AxisRole::Parallel;
}

/// Follows one axis from op to op.
class Follower {
 public:
  Follower(const Graph& graph, const ChainMarks& marks) : graph_(graph), marks_(marks) {}

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
    if (!is_free(op, axis) || is_collective(op.kind)) {
      return false;
    }
    std::vector<std::pair<TensorId, DimId>> made;
    for (const Operand& operand : op.operands) {
      if (is_clipped(op, operand, axis)) {
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

  /// Whether `axis` counts further than the operands of one value reach, so that some wave might
  /// find nothing.
  [[nodiscard]] bool is_clipped(const Op& op, const Operand& operand, AxisId axis) const {
    return std::ranges::any_of(operand.dims.ids(), [&](DimId d) {
      const std::vector<AxisId>& axes = operand.dims[d].axes;
      return std::ranges::find(axes, axis) != axes.end() && !is_covered(op, operand, d);
    });
  }

  /// Whether every index that an operand counts along a dimension is in its tensor, or in that of
  /// another part of the same value.
  [[nodiscard]] bool is_covered(const Op& op, const Operand& operand, DimId d) const {
    const Dim& dim = operand.dims[d];
    std::vector<CountedRange> found;  // what each part has, as counted from the dim's offset on
    for (const Operand& part : op.operands) {
      const bool same =
          &part == &operand || (part.access == operand.access && part.input == operand.input &&
                                operand.input >= 0 && part.dims.size() == operand.dims.size() &&
                                part.dims[d].axes == dim.axes && part.dims[d].coef == dim.coef);
      if (same) {
        const std::int64_t length = graph_.tensors[part.tensor].shape[d];
        found.push_back({.first = -part.dims[d].offset, .last = length - 1 - part.dims[d].offset});
      }
    }
    std::ranges::sort(found, {}, &CountedRange::first);
    std::int64_t next = 0;  // the first index that no part has yet
    for (const CountedRange& range : found) {
      next = range.first <= next ? std::max(next, range.last + 1) : next;
    }
    return next > counted(op, dim).last - dim.offset;
  }

  void leave_behind(OpId i) {
    for (const Operand& operand : graph_.ops[i].operands) {
      if (operand.access == Access::Write) {
        behind_.insert(operand.tensor);
      }
    }
  }

  const Graph& graph_;
  ChainMarks marks_;
  std::map<TensorId, DimId> parts_;  // tensors that lie in parts: along which dimension
  std::set<TensorId> behind_;        // tensors made of parts by ops outside
};

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

Table<TensorId, char> kept_whole(const Graph& graph) {
  Table<TensorId, char> whole(graph.tensors.size(), 0);
  for (const Op& op : graph.ops) {
    for (const OperandId k : op.operands.ids()) {
      const Operand& operand = op.operands[k];
      const bool is_made = operand.access == Access::Write && in_hbm(graph.tensors[operand.tensor]);
      if (is_collective(op.kind) || operand.input < 0 || operand.covers || is_made) {
        whole[operand.tensor] = 1;
      }
      if (operand.covers) {
        whole[op.operands[k + 1].tensor] = 1;
      }
      if (operand.indirect) {
        whole[operand.indirect->index] = 1;
      }
    }
  }
  return whole;
}

std::vector<Chain> batch_chains(const Graph& graph) {
  const Table<TensorId, char> whole = kept_whole(graph);
  const Table<OpId, char> light(graph.ops.size(), 0);
  Follower follower(graph, {.heavy = light, .whole = whole});
  std::map<TensorId, DimId> inputs = batch_dims(graph);
  std::vector<Chain> found = follower.follow_all(inputs);
  if (!found.empty()) {
    std::set<OpId> links;
    for (const Chain& chain : found) {
      for (const Chain::ChainOp& link : chain.links) {
        links.insert(link.op);
      }
    }
    std::erase_if(inputs, [&](const auto& input) { return whole[input.first] != 0; });
    for (const OpId i : graph.ops.ids()) {  // What others read, too, comes whole.
      for (const TensorId t : tensors_of(graph.ops[i])) {
        if (!links.contains(i)) {
          inputs.erase(t);
        }
      }
    }
    found.front().inputs = std::move(inputs);
  }
  return found;
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

std::vector<Chain> chains_from(const Graph& graph, OpId first, const ChainMarks& marks) {
  Follower follower(graph, marks);
  std::vector<Chain> found;
  for (const AxisId axis : graph.ops[first].axes.ids()) {
    Chain chain = follower.follow(first, axis);
    if (chain.length > 1 && !chain.links.empty()) {
      found.push_back(std::move(chain));
    }
  }
  return found;
}

}  // namespace elk::ir
