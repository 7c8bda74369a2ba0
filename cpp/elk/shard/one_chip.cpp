#include "elk/shard/one_chip.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/base/text.hpp"

namespace elk::shard {
namespace {

std::string suffix(Form form) {
  switch (form.kind) {
    case Form::Kind::Whole:
      return "@whole";
    case Form::Kind::Partial:
      return "@partial";
    case Form::Kind::Cut:
      return text("@", form.dim);
  }
  return "";
}

/// The ops of one chip, added one after another.
class ChipGraphBuilder {
 public:
  ChipGraphBuilder(const ir::Graph& graph, const Sharding& sharding, std::int64_t chips)
      : graph_(graph),
        sharding_(sharding),
        chips_(chips),
        lengths_(graph, chips),
        versions_(graph.tensors.size()) {
    result_.graph.name = graph.name;
  }

  OneChip build() {
    std::size_t move = 0;
    for (const OpId op : graph_.ops.ids()) {
      for (; move < sharding_.collectives.size() && sharding_.collectives[move].op == op; ++move) {
        exchange(sharding_.collectives[move]);
      }
      add(graph_.ops[op], sharding_.splits[op]);
    }
    for (const ir::Store& store : graph_.stores) {
      result_.graph.stores.push_back(stored(store));
    }
    for (const TensorId output : graph_.outputs) {
      result_.graph.outputs.push_back(versions_[output].front());
    }
    ir::validate(result_.graph);
    result_.graph.repeat = ir::find_repeat(result_.graph);
    return std::move(result_);
  }

 private:
  /// A tensor as a chip holds it, in parts of `length` where it is cut.
  struct TensorShard {
    TensorId tensor;
    Form form;
    std::int64_t length;
  };

  /// Parts as long as what ops make has them.
  [[nodiscard]] TensorShard made(TensorId tensor, Form form) const {
    const bool is_cut = form.kind == Form::Kind::Cut;
    return {.tensor = tensor, .form = form, .length = is_cut ? lengths_.of(tensor, form.dim) : 0};
  }

  /// Parts as long as the split op has them.
  static TensorShard of(const ir::Op& op, OperandId place, const Split& split) {
    const Form form = split.forms[place];
    const bool is_cut = form.kind == Form::Kind::Cut;
    return {.tensor = op.operands[place].tensor,
            .form = form,
            .length = is_cut ? part_length(op, split, place) : 0};
  }

  /// The tensor that is `held`, if there is one yet.
  [[nodiscard]] std::optional<TensorId> find(const TensorShard& held) const {
    for (const TensorId version : versions_[held.tensor]) {
      const bool is_cut = held.form.kind == Form::Kind::Cut;
      const Table<DimId, std::int64_t>& shape = result_.graph.tensors[version].shape;
      if (result_.forms[version] == held.form && (!is_cut || shape[held.form.dim] == held.length)) {
        return version;
      }
    }
    return std::nullopt;
  }

  TensorId make(const TensorShard& held, ir::DType dtype) {
    const auto [tensor, form, length] = held;
    const ir::Tensor& like = graph_.tensors[tensor];
    std::vector<TensorId>& versions = versions_[tensor];
    ir::Tensor version = like;
    version.dtype = dtype;
    if (!versions.empty()) {
      version.name += suffix(form) + (is_again(held) ? text("/", length) : "");
      version.home = is_given(like) ? like.home : ir::Home::Activation;
    }
    if (form.kind == Form::Kind::Cut) {
      version.shape[form.dim] = length;
    }
    versions.push_back(result_.graph.tensors.end_id());
    result_.graph.tensors.push_back(std::move(version));
    result_.forms.push_back(form);
    result_.whole.push_back(like.shape);
    return versions.back();
  }

  /// Whether it is held along the same dimension in parts of another length.
  [[nodiscard]] bool is_again(const TensorShard& held) const {
    const std::vector<TensorId>& versions = versions_[held.tensor];
    return std::any_of(versions.begin(), versions.end(),
                       [&](TensorId version) { return result_.forms[version] == held.form; });
  }

  static bool is_given(const ir::Tensor& tensor) {
    return tensor.home == ir::Home::Weight || tensor.home == ir::Home::State ||
           tensor.home == ir::Home::Input;
  }

  /// What is given is there in any form; of what is made and whole, a chip takes its slice.
  TensorId read(const TensorShard& held) {
    if (const auto there = find(held)) {
      return *there;
    }
    const ir::Tensor& like = graph_.tensors[held.tensor];
    if (versions_[held.tensor].empty() || is_given(like)) {
      return make(held, like.dtype);
    }
    const auto uncut = find(made(held.tensor, whole()));
    if (!uncut || held.form.kind != Form::Kind::Cut) {
      throw InternalError(text("tensor ", like.name, " is not at hand in the form it is read in"));
    }
    const TensorId part = make(held, like.dtype);
    move(ir::OpKind::Copy, *uncut, part);
    return part;
  }

  void add(const ir::Op& op, const Split& split) {
    ir::Op node = on_one_chip(op, split);
    for (const OperandId i : node.operands.ids()) {
      ir::Operand& operand = node.operands[i];
      const TensorId tensor = operand.tensor;
      if (operand.access == ir::Access::Read) {
        operand.tensor = read(of(op, i, split));
        note_state(op, i, split);
      } else {
        operand.tensor = make(of(op, i, split), made_dtype(op, tensor, split.forms[i]));
      }
    }
    for (const OperandId i : node.operands.ids()) {
      if (node.operands[i].indirect) {
        node.operands[i].indirect->index = index_of(op, op.operands[i].indirect->index, node);
      }
    }
    push(std::move(node), split.axis);
  }

  /// The version of an index tensor that an op reads as an operand: a chip that computes a part of
  /// the points picks by their part of the index. All of it where no operand is the index.
  TensorId index_of(const ir::Op& op, TensorId index, const ir::Op& node) {
    for (const OperandId i : op.operands.ids()) {
      if (op.operands[i].tensor == index && op.operands[i].access == ir::Access::Read) {
        return node.operands[i].tensor;
      }
    }
    return read(made(index, whole()));
  }

  /// Addends keep the width that their op accumulates in.
  [[nodiscard]] ir::DType made_dtype(const ir::Op& op, TensorId tensor, Form form) const {
    const ir::DType stored = graph_.tensors[tensor].dtype;
    const bool wider = ir::bits(op.accumulate) > ir::bits(stored);
    return form == partial() && wider ? op.accumulate : stored;
  }

  /// Rows that are read beside the state that they are appended to: the form that the state has.
  void note_state(const ir::Op& op, OperandId at, const Split& split) {
    const ir::Operand& rows = op.operands[at];
    for (const ir::Operand& other : op.operands) {
      const bool beside = other.input == rows.input && other.input >= 0 &&
                          graph_.tensors[other.tensor].home == ir::Home::State;
      if (beside && other.tensor != rows.tensor) {
        beside_state_.emplace(rows.tensor, of(op, at, split));
      }
    }
  }

  void exchange(const Collective& moved) {
    const TensorId before = *find(made(moved.tensor, moved.from));
    const ir::DType dtype = graph_.tensors[moved.tensor].dtype;
    const TensorId after = make(made(moved.tensor, moved.to), dtype);
    move(kind(shard::exchange(moved.from, moved.to)), before, after);
  }

  /// An op that turns one version of a tensor into another: an axis for each dimension, and in
  /// front of a cut one the axis of the chips.
  void move(ir::OpKind by, TensorId before, TensorId after) {
    const ir::Tensor& from = result_.graph.tensors[before];
    const ir::Tensor& to = result_.graph.tensors[after];
    const bool slices = by == ir::OpKind::Copy;
    const bool sums = result_.forms[before] == partial();
    ir::Op op{
        .name = text(ir::name(by), "/", to.name),
        .kind = by,
        .onnx_type = "",
        .function = sums ? "partials_reduce" : "slice_copy",
        .params = slices ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{chips_},
        .compute = from.dtype,
        .accumulate = from.dtype,
        .axes = {},
        .operands = {{.tensor = before, .access = ir::Access::Read, .dims = {}, .indirect = {}},
                     {.tensor = after, .access = ir::Access::Write, .dims = {}, .indirect = {}}},
        .flops = 0};
    std::int64_t elements = 1;
    for (const DimId dim : from.shape.ids()) {
      add_dim(op, dim, from.shape[dim], to.shape[dim]);
      elements *= from.shape[dim];
    }
    op.flops = sums ? elements / chips_ * (chips_ - 1) : 0;
    push(std::move(op), AxisId::none);
  }

  /// Where one side is longer, it has the parts of all chips, one after another; a slice reads the
  /// first of them.
  void add_dim(ir::Op& op, DimId dim, std::int64_t before, std::int64_t after) const {
    const std::int64_t part = std::min(before, after);
    const std::size_t rank = result_.graph.tensors[op.operands[OperandId{0}].tensor].shape.size();
    const bool last = (dim + 1).index() == rank;
    const AxisId own =
        add_axis(op, text("d", dim), part, last ? ir::TileDim::SliceElements : ir::TileDim::Slices);
    const ir::Dim plain{.axes = {own}, .coef = {1}, .offset = 0};
    op.operands[OperandId{0}].dims.push_back(plain);
    op.operands[OperandId{1}].dims.push_back(plain);
    if (before != after && ir::is_collective(op.kind)) {
      const std::int64_t parts = ceil_div(std::max(before, after), part);
      const AxisId chip = add_axis(op, text("chip", dim), parts, ir::TileDim::None);
      ir::Dim& longer = op.operands[OperandId{before > after ? 0 : 1}].dims.back();
      longer = {.axes = {chip, own}, .coef = {part, 1}, .offset = 0};
    }
  }

  static AxisId add_axis(ir::Op& op, std::string name, std::int64_t size, ir::TileDim tile) {
    op.axes.push_back(
        {.name = std::move(name), .size = size, .role = ir::AxisRole::Parallel, .tile_dim = tile});
    return op.axes.end_id() - 1;
  }

  void push(ir::Op op, AxisId axis) {
    result_.graph.ops.push_back(std::move(op));
    result_.axes.push_back(axis);
  }

  [[nodiscard]] ir::Store stored(const ir::Store& store) const {
    TensorId version = versions_[store.tensor].front();
    if (const auto beside = beside_state_.find(store.tensor); beside != beside_state_.end()) {
      version = find(beside->second).value_or(version);
    }
    return {.tensor = version, .op = maker(version), .run = run_of(store, version)};
  }

  [[nodiscard]] OpId maker(TensorId version) const {
    for (const OpId op : result_.graph.ops.ids()) {
      for (const ir::Operand& operand : result_.graph.ops[op].operands) {
        if (operand.tensor == version && operand.access == ir::Access::Write) {
          return op;
        }
      }
    }
    throw InternalError("a stored tensor is made by no op");
  }

  /// Contiguous bytes in one chip's HBM: a chip has its part of a run that covers the whole cut
  /// dimension, and of a shorter one no more than its part of the dimension.
  [[nodiscard]] Bytes run_of(const ir::Store& store, TensorId version) const {
    const Form form = result_.forms[version];
    if (form.kind != Form::Kind::Cut) {
      return store.run;
    }
    const ir::Tensor& tensor = graph_.tensors[store.tensor];
    const std::int64_t whole = tensor.shape[form.dim];
    const std::int64_t part = result_.graph.tensors[version].shape[form.dim];
    std::int64_t inner = ir::bits(tensor.dtype);  // bits of those dimensions inside the cut one
    for (DimId dim = id_at<DimId>(form.dim.index() + 1); dim.index() < tensor.shape.size(); ++dim) {
      inner *= tensor.shape[dim];
    }
    const std::int64_t run = store.run.value;
    const std::int64_t own = ceil_div(inner * part, 8);
    const bool covers = run >= ceil_div(inner * whole, 8);
    const std::int64_t shared = (run / whole * part) + ceil_div(run % whole * part, whole);
    return {covers ? shared : std::min(run, own)};
  }

  const ir::Graph& graph_;
  const Sharding& sharding_;
  std::int64_t chips_;
  PartLengths lengths_;
  Table<TensorId, std::vector<TensorId>> versions_;  // of each whole tensor, as they were made
  std::map<TensorId, TensorShard> beside_state_;
  OneChip result_{
      .graph = {.name = "", .tensors = {}, .ops = {}, .stores = {}, .repeat = {}, .outputs = {}},
      .forms = {},
      .whole = {},
      .axes = {}};
};

}  // namespace

OneChip one_chip(const ir::Graph& graph, const Sharding& sharding, std::int64_t chips) {
  return ChipGraphBuilder(graph, sharding, chips).build();
}

std::vector<OpId> slices(const OneChip& one) {
  std::vector<OpId> found;
  for (const OpId i : one.graph.ops.ids()) {
    const ir::Op& op = one.graph.ops[i];
    if (op.kind == ir::OpKind::Copy && one.axes[i] == AxisId::none && op.operands.size() == 2 &&
        one.forms[op.operands[OperandId{0}].tensor] == whole() &&
        one.forms[op.operands[OperandId{1}].tensor].kind == Form::Kind::Cut) {
      found.push_back(i);
    }
  }
  return found;
}

}  // namespace elk::shard
