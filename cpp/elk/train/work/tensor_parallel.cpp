#include "elk/train/work/tensor_parallel.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "elk/base/errors.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/text.hpp"
#include "elk/partition/extent.hpp"
#include "elk/shard/lengths.hpp"
#include "elk/shard/split.hpp"

namespace elk::train {
namespace {

bool is_product(const ir::Op& op) {
  return op.kind == ir::OpKind::MatMul || op.kind == ir::OpKind::Conv;
}

bool picks(const ir::Op& op) {
  return std::ranges::any_of(op.operands,
                             [](const ir::Operand& one) { return one.indirect.has_value(); });
}

/// Whether one who names `name` means `axis`: several reduced dimensions are `k_0`, `k_1`.
bool is_called(const ir::Axis& axis, const std::string& name) {
  return axis.name == name || axis.name == name + "_0";
}

Origin origin_of(const ir::Op& op, const Table<TensorId, Origin>& known) {
  Origin origin = Origin::Nothing;
  for (const ir::Operand& one : op.operands) {
    origin = one.access == ir::Access::Read ? std::min(origin, known[one.tensor]) : origin;
  }
  return origin;
}

class GroupCutter {
 public:
  GroupCutter(const ir::Graph& graph, std::int64_t tp, const std::vector<OpDegrees>& degrees)
      : graph_(graph),
        tp_(tp),
        degrees_(degrees),
        used_(degrees.size(), false),
        origins_(origins(graph)) {
    out_.held.resize(graph.tensors.size());
    for (const ir::Op& op : graph.ops) {
      out_.ops.push_back({.axes = Table<AxisId, GroupCut>(op.axes.size(), kWhole),
                          .picked = kWhole,
                          .gathered = {}});
    }
  }

  TensorParallel cut() {
    for (const OpId op : graph_.ops.ids()) {
      if (!is_cut_as_read(op)) {
        cut(op);
      }
    }
    for (OpId op = graph_.ops.end_id(); op-- > OpId{0};) {
      if (is_cut_as_read(op)) {
        cut_as_read(op);
      }
    }
    for (std::size_t i = 0; i < degrees_.size(); ++i) {
      if (!used_[i]) {
        throw InvalidInput(
            text("degrees: no operator is called, or of type, \"", degrees_[i].op, "\""),
            "strategy");
      }
    }
    return std::move(out_);
  }

 private:
  /// Masks, positions and random numbers are cut as they are read, unless the caller says how.
  [[nodiscard]] bool is_cut_as_read(OpId id) const {
    return origins_[id] != Origin::Weights &&
           std::ranges::none_of(degrees_,
                                [&](const OpDegrees& one) { return means(one, graph_.ops[id]); });
  }
  static bool means(const OpDegrees& one, const ir::Op& op) {
    return one.op == op.onnx_type || one.op == op.name;
  }

  void cut(OpId id) {
    const ir::Op& op = graph_.ops[id];
    bool given = false;
    for (std::size_t i = 0; i < degrees_.size(); ++i) {
      if (!means(degrees_[i], op)) {
        continue;
      }
      used_[i] = true;
      if (!std::exchange(given, true)) {
        take(degrees_[i], id);
      }
    }
    if (!given) {
      follow(id);
      if (tp_ > 1 && is_uncut(id)) {
        begin(id);
      }
    }
    gather(id);
    hold(id);
  }

  [[nodiscard]] bool is_uncut(OpId id) const {
    return out_.ops[id].picked.whole() &&
           std::ranges::all_of(out_.ops[id].axes, [](const GroupCut& cut) { return cut.whole(); });
  }

  /// What the caller says; of several axes the last has neighbours.
  void take(const OpDegrees& degrees, OpId id) {
    const ir::Op& op = graph_.ops[id];
    std::int64_t stride = 1;
    for (std::size_t i = degrees.axes.size(); i-- > 0;) {
      const auto& [name, parts] = degrees.axes[i];
      const auto found = std::ranges::find_if(
          op.axes, [&name](const ir::Axis& axis) { return is_called(axis, name); });
      if (found == op.axes.end() || found->size < parts) {
        std::string axes;
        for (const ir::Axis& axis : op.axes) {
          axes += text(axes.empty() ? "" : ", ", axis.name, " of ", axis.size);
        }
        throw InvalidInput(
            text("degrees[\"", degrees.op, "\"][\"", name, "\"] must be an axis of at least ",
                 parts, " in each such operator, ", op.name, " has ", axes),
            "strategy");
      }
      out_.ops[id].axes[id_at<AxisId>(found - op.axes.begin())] = {.parts = parts,
                                                                   .stride = stride};
      stride *= parts;
    }
  }

  /// Takes the cuts of what the op reads.
  void follow(OpId id) {
    const ir::Op& op = graph_.ops[id];
    for (const OperandId i : op.operands.ids()) {
      if (op.operands[i].access == ir::Access::Read) {
        for (const DimCut& held : out_.held[op.operands[i].tensor]) {
          follow(id, i, held);
        }
      }
    }
  }

  void follow(OpId id, OperandId i, const DimCut& held) {
    const ir::Operand& operand = graph_.ops[id].operands[i];
    OpCut& now = out_.ops[id];
    if (operand.indirect && operand.indirect->dim == held.dim) {
      now.picked = now.picked.whole() ? held.cut : now.picked;
      return;
    }
    const std::optional<AxisId> axis = axis_along(id, i, held.dim, held.cut.parts);
    if (axis && now.axes[*axis].whole() && is_free(id, held.cut)) {
      now.axes[*axis] = held.cut;
    }
  }

  /// Whether no axis of the op is cut over the same devices.
  [[nodiscard]] bool is_free(OpId id, GroupCut cut) const {
    const OpCut& now = out_.ops[id];
    return now.picked != cut && std::ranges::find(now.axes, cut) == now.axes.end();
  }

  /// The axis of an op that cuts its operand `i` along `dim` into `parts`.
  std::optional<AxisId> axis_along(OpId id, OperandId i, DimId dim, std::int64_t parts) {
    const ir::Op& op = graph_.ops[id];
    const ir::Operand& operand = op.operands[i];
    if (op.kind == ir::OpKind::Softmax || op.kind == ir::OpKind::Norm) {
      const ir::Dim& indexed = operand.dims[dim];
      const AxisId outer = indexed.axes.empty() ? AxisId::none : indexed.axes.front();
      const std::int64_t shape = graph_.tensors[operand.tensor].shape[dim];
      const bool cuts = shard::block_length(op, indexed, shape, outer).has_value();
      return cuts && op.axes[outer].size >= parts ? std::optional(outer) : std::nullopt;
    }
    for (const shard::Split& split : shard::splits(graph_, op, lengths(parts))) {
      if (split.axis != AxisId::none && split.forms[i] == shard::cut(dim) &&
          op.axes[split.axis].size >= parts) {
        return split.axis;
      }
    }
    return std::nullopt;
  }

  const shard::PartLengths& lengths(std::int64_t parts) {
    const auto found = lengths_.find(parts);
    return found != lengths_.end()
               ? found->second
               : lengths_.emplace(parts, shard::PartLengths(graph_, parts)).first->second;
  }

  /// Cuts what nothing before it has cut: rows of a table, columns of a weight.
  void begin(OpId id) {
    const ir::Op& op = graph_.ops[id];
    const GroupCut all{.parts = tp_, .stride = 1};
    for (const ir::Operand& operand : op.operands) {
      const ir::Tensor& tensor = graph_.tensors[operand.tensor];
      if (operand.indirect && tensor.home == ir::Home::Weight &&
          tensor.shape[operand.indirect->dim] >= tp_) {
        out_.ops[id].picked = all;
        return;
      }
    }
    if (!is_product(op) || picks(op)) {
      return;
    }
    const shard::PartLengths& parts = lengths(tp_);
    AxisId best = AxisId::none;
    for (const shard::Split& split : shard::splits(graph_, op, parts)) {
      const bool widest = split.axis != AxisId::none && op.axes[split.axis].size >= tp_ &&
                          (best == AxisId::none || op.axes[split.axis].size > op.axes[best].size);
      if (widest && cuts_columns(op, split)) {
        best = split.axis;
      }
    }
    if (best != AxisId::none) {
      out_.ops[id].axes[best] = all;
    }
  }

  /// Whether a split of a product cuts a weight and the result, and nothing else.
  [[nodiscard]] bool cuts_columns(const ir::Op& op, const shard::Split& split) const {
    bool weight = false;
    for (const OperandId i : op.operands.ids()) {
      const ir::Operand& operand = op.operands[i];
      const bool is_cut = split.forms[i].kind == shard::Form::Kind::Cut;
      const bool is_weight = graph_.tensors[operand.tensor].home == ir::Home::Weight;
      if (operand.access == ir::Access::Write ? !is_cut : is_cut && !is_weight) {
        return false;
      }
      weight = weight || (is_cut && is_weight);
    }
    return weight;
  }

  /// Notes what the op reads otherwise than it is held.
  void gather(OpId id) {
    const ir::Op& op = graph_.ops[id];
    for (const ir::Operand& operand : op.operands) {
      if (operand.access == ir::Access::Write) {
        continue;
      }
      add_gathered(id, operand.tensor, cuts_of(out_.ops[id], operand));
      if (operand.indirect) {
        add_gathered(id, operand.indirect->index, {});
      }
    }
  }

  void add_gathered(OpId id, TensorId tensor, const TensorCuts& read) {
    const TensorCuts& held = out_.held[tensor];
    const bool suits = std::ranges::all_of(
        held, [&read](const DimCut& one) { return std::ranges::find(read, one) != read.end(); });
    std::vector<TensorId>& gathered = out_.ops[id].gathered;
    if (!suits && std::ranges::find(gathered, tensor) == gathered.end()) {
      gathered.push_back(tensor);
    }
  }

  /// How an operand is cut where its op is.
  static TensorCuts cuts_of(const OpCut& cut, const ir::Operand& operand) {
    TensorCuts cuts;
    for (const DimId dim : operand.dims.ids()) {
      for (const AxisId axis : operand.dims[dim].axes) {
        if (!cut.axes[axis].whole()) {
          cuts.push_back({dim, cut.axes[axis]});
        }
      }
      if (operand.indirect && operand.indirect->dim == dim && !cut.picked.whole()) {
        cuts.push_back({dim, cut.picked});
      }
    }
    return cuts;
  }

  void hold(OpId id) {
    const ir::Op& op = graph_.ops[id];
    for (const ir::Operand& operand : op.operands) {
      if (operand.access == ir::Access::Write) {
        out_.held[operand.tensor] = cuts_of(out_.ops[id], operand);
      }
    }
  }

  /// An op that only inputs make is cut as all who read it have it, or not at all.
  void cut_as_read(OpId id) {
    const ir::Op& op = graph_.ops[id];
    for (const ir::Operand& operand : op.operands) {
      if (operand.access == ir::Access::Read) {
        continue;
      }
      for (const DimId dim : operand.dims.ids()) {
        const ir::Dim& indexed = operand.dims[dim];
        const std::optional<GroupCut> read = read_in(operand.tensor, dim);
        if (read && indexed.axes.size() == 1 &&
            op.axes[indexed.axes.front()].role == ir::AxisRole::Parallel) {
          out_.ops[id].axes[indexed.axes.front()] = *read;
        }
      }
    }
    hold(id);
  }

  /// The cut of a dimension that all readers of a tensor want.
  [[nodiscard]] std::optional<GroupCut> read_in(TensorId tensor, DimId dim) {
    if (readers_.empty()) {
      readers_.resize(graph_.tensors.size());
      for (const OpId op : graph_.ops.ids()) {
        for (const OperandId i : graph_.ops[op].operands.ids()) {
          if (graph_.ops[op].operands[i].access == ir::Access::Read) {
            readers_[graph_.ops[op].operands[i].tensor].emplace_back(op, i);
          }
        }
      }
    }
    std::set<GroupCut> wanted;
    for (const auto& [op, i] : readers_[tensor]) {
      const TensorCuts cuts = cuts_of(out_.ops[op], graph_.ops[op].operands[i]);
      const auto found = std::ranges::find(cuts, dim, &DimCut::dim);
      wanted.insert(found != cuts.end() ? found->cut : kWhole);
    }
    return wanted.size() == 1 && !wanted.begin()->whole() ? std::optional(*wanted.begin())
                                                          : std::nullopt;
  }

  const ir::Graph& graph_;
  std::int64_t tp_;
  const std::vector<OpDegrees>& degrees_;
  std::vector<bool> used_;  // of each of `degrees_`, whether an op is meant
  std::map<std::int64_t, shard::PartLengths> lengths_;
  Table<OpId, Origin> origins_;
  Table<TensorId, std::vector<std::pair<OpId, OperandId>>> readers_;
  TensorParallel out_;
};

}  // namespace

std::vector<TensorId> written_by(const ir::Op& op) {
  std::vector<TensorId> written;
  for (const ir::Operand& one : op.operands) {
    if (one.access == ir::Access::Write) {
      written.push_back(one.tensor);
    }
  }
  return written;
}

bool is_float(ir::DType dtype) {
  using enum ir::DType;
  return dtype == F64 || dtype == F32 || dtype == F16 || dtype == BF16 || dtype == F8;
}

Table<OpId, Origin> origins(const ir::Graph& graph) {
  Table<TensorId, Origin> known;
  for (const ir::Tensor& tensor : graph.tensors) {
    const bool constant = tensor.home == ir::Home::Weight && !is_float(tensor.dtype);
    known.push_back(tensor.home == ir::Home::Input || constant ? Origin::Inputs : Origin::Weights);
  }
  Table<OpId, Origin> result;
  for (const ir::Op& op : graph.ops) {
    result.push_back(origin_of(op, known));
    for (const TensorId written : written_by(op)) {
      known[written] = result.back();
    }
  }
  return result;
}

TensorParallel cut_over(const ir::Graph& graph, std::int64_t tp,
                        const std::vector<OpDegrees>& degrees) {
  return GroupCutter(graph, tp, degrees).cut();
}

Table<AxisId, std::int64_t> local_sizes(const ir::Op& op, const OpCut& cut) {
  Table<AxisId, std::int64_t> sizes;
  for (const AxisId axis : op.axes.ids()) {
    sizes.push_back(ceil_div(op.axes[axis].size, cut.axes[axis].parts));
  }
  return sizes;
}

std::vector<GroupCut> sums_over(const ir::Op& op, const OpCut& cut, const ir::Operand& operand) {
  std::vector<GroupCut> sums;
  for (const AxisId axis : op.axes.ids()) {
    if (!cut.axes[axis].whole() && !partition::contains(operand, axis)) {
      sums.push_back(cut.axes[axis]);
    }
  }
  if (!cut.picked.whole() && !operand.indirect) {
    sums.push_back(cut.picked);
  }
  return sums;
}

}  // namespace elk::train
