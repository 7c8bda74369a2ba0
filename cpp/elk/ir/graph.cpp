#include "elk/ir/graph.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/base/text.hpp"
#include "elk/ir/spills.hpp"

namespace elk::ir {

namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 56;
constexpr std::size_t kMaxAxes = 64;  // of an op: sets of axes are bits of one word

struct DTypeInfo {
  const char* name;
  std::int64_t bits;
};

/// In the order of DType.
constexpr std::array<DTypeInfo, 16> kDTypes{{{"f64", 64},
                                             {"f32", 32},
                                             {"f16", 16},
                                             {"bf16", 16},
                                             {"f8", 8},
                                             {"i64", 64},
                                             {"i32", 32},
                                             {"i16", 16},
                                             {"i8", 8},
                                             {"i4", 4},
                                             {"u64", 64},
                                             {"u32", 32},
                                             {"u16", 16},
                                             {"u8", 8},
                                             {"u4", 4},
                                             {"bool", 8}}};

const DTypeInfo& info(DType dtype) { return kDTypes.at(static_cast<std::size_t>(dtype)); }

/// Refuses sizes whose product could overflow what is computed from it; `what()` names them.
template <class What>
void check_elements(std::span<const std::int64_t> sizes, const What& what) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) {
    if (size < 1) {
      throw InvalidInput(text(what(), " must have positive sizes, got ", size));
    }
    if (product > kMaxElements / size) {
      throw InvalidInput(text(what(), " must have at most 2^56 elements"));
    }
    product *= size;
  }
}

bool within(std::int64_t position, std::size_t size) {
  return position >= 0 && position < static_cast<std::int64_t>(size);
}

/// Checks one op against the graph; `op` counts for messages.
class OpChecker {
 public:
  OpChecker(const Graph& graph, const Op& op) : graph_(graph), op_(op) {}

  void check() const {
    if (op_.axes.size() > kMaxAxes) {
      throw InvalidInput(
          text(where("the axes"), " must be at most ", kMaxAxes, ", got ", op_.axes.size()));
    }
    Table<AxisId, std::int64_t> sizes(op_.axes.size());
    std::ranges::transform(op_.axes, sizes.begin(), &Axis::size);
    check_elements(sizes, [&] { return where("the axes"); });
    if (op_.flops < 0) {
      throw InvalidInput(text(where("flops"), " must not be negative, got ", op_.flops));
    }
    for (const std::int64_t param : op_.params) {
      if (param < 0 || param > kMaxElements) {
        throw InvalidInput(
            text(where("params"), " must be from 0 to ", kMaxElements, ", got ", param));
      }
    }
    bool written = false;
    for (const Operand& operand : op_.operands) {
      if (written && operand.access == Access::Read) {
        throw InvalidInput(where("operands") + " must list reads before writes");
      }
      written = written || operand.access == Access::Write;
      check_operand(operand);
      if (operand.covers) {
        check_cover(operand);
      }
    }
    if (!written) {
      throw InvalidInput(where("operands") + " must have a write");
    }
    if (is_collective(op_.kind)) {
      check_collective();
    }
  }

 private:
  [[nodiscard]] std::string where(std::string_view what) const {
    return text("op '", op_.name, "': ", what);
  }

  void check_collective() const {
    if (op_.operands.size() != 2 || op_.operands.front().indirect) {
      throw InvalidInput(where("a collective") + " must read one tensor and write one");
    }
    if (op_.params.size() != 1 || op_.params.front() < 2) {
      throw InvalidInput(where("params") + " of a collective must be how many chips take part");
    }
  }

  void check_operand(const Operand& operand) const {
    if (!within(operand.tensor.value, graph_.tensors.size())) {
      throw InvalidInput(text(where("an operand's tensor"), " must be in the graph, got ",
                              operand.tensor, " of ", graph_.tensors.size()));
    }
    const Tensor& tensor = graph_.tensors[operand.tensor];
    if (operand.dims.size() != tensor.shape.size()) {
      throw InvalidInput(text(where("operand '"), tensor.name, "' must have one dim for each of ",
                              tensor.shape.size(), " sizes, got ", operand.dims.size()));
    }
    for (const DimId d : operand.dims.ids()) {
      check_dim(operand.dims[d], tensor, d);
    }
    if (operand.indirect) {
      check_indirect(*operand.indirect, tensor);
    }
  }

  /// `operand` is one of the op's.
  void check_cover(const Operand& operand) const {
    const Operand* mask = &operand + 1;
    if (operand.access != Access::Read || mask == &*op_.operands.end() ||
        mask->access != Access::Read || mask->covers || !is_bool(mask->tensor)) {
      throw InvalidInput(where("an operand that covers others") +
                         " must be read, and its mask of truth values behind it");
    }
  }

  [[nodiscard]] bool is_bool(TensorId tensor) const {
    return within(tensor.value, graph_.tensors.size()) &&
           graph_.tensors[tensor].dtype == DType::Bool;
  }

  void check_dim(const Dim& dim, const Tensor& tensor, DimId d) const {
    const auto what = [&] { return where(text("dim ", d, " of '", tensor.name, "'")); };
    if (dim.axes.size() != dim.coef.size()) {
      throw InvalidInput(text(what(), " must have one coefficient for each axis"));
    }
    if (dim.offset < -kMaxElements || dim.offset > kMaxElements) {
      throw InvalidInput(
          text(what(), " must have an offset of at most ", kMaxElements, ", got ", dim.offset));
    }
    const std::int64_t low = dim.offset;
    std::int64_t high = dim.offset;
    for (std::size_t i = 0; i < dim.axes.size(); ++i) {
      if (!within(dim.axes[i].value, op_.axes.size())) {
        throw InvalidInput(text(what(), " names axis ", dim.axes[i], " of ", op_.axes.size()));
      }
      if (dim.coef[i] < 1 || dim.coef[i] > kMaxElements) {
        throw InvalidInput(text(what(), " must have positive coefficients, got ", dim.coef[i]));
      }
      const std::int64_t steps = op_.axes[dim.axes[i]].size - 1;
      if (steps > 0 && dim.coef[i] > (kMaxElements - std::min(high, kMaxElements)) / steps) {
        throw InvalidInput(text(what(), " must index at most ", kMaxElements, " positions"));
      }
      high += steps * dim.coef[i];
    }
    if (high < 0 || low >= tensor.shape[d]) {
      throw InvalidInput(text(what(), " indexes ", low, " to ", high, " of ", tensor.shape[d],
                              ": nothing of it is read"));
    }
  }

  void check_indirect(const Indirect& indirect, const Tensor& tensor) const {
    const bool found = within(indirect.index.value, graph_.tensors.size()) &&
                       within(indirect.dim.value, tensor.shape.size()) &&
                       std::ranges::all_of(indirect.axes, [this](AxisId axis) {
                         return within(axis.value, op_.axes.size());
                       });
    if (!found) {
      throw InvalidInput(text(where("the index into '"), tensor.name,
                              "' names a tensor, a dim or axes that are not there"));
    }
    std::int64_t picks = 1;
    for (const AxisId axis : indirect.axes) {
      picks = std::min(picks, kMaxElements / op_.axes[axis].size) * op_.axes[axis].size;
    }
    const std::int64_t most = std::max(picks, tensor.shape[indirect.dim]);
    const bool within =
        indirect.expected_picks >= 0.0 && indirect.expected_picks <= static_cast<double>(most);
    if (!within) {
      throw InvalidInput(text(where("the index into '"), tensor.name, "' must pick from 0 to ",
                              most, " positions, got ", indirect.expected_picks));
    }
  }

  const Graph& graph_;
  const Op& op_;
};

void check_names(const Graph& graph) {
  std::vector<std::string_view> names;
  names.reserve(graph.tensors.size());
  for (const Tensor& tensor : graph.tensors) {
    names.emplace_back(tensor.name);
  }
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) {
    throw InvalidInput(text("tensor names must differ, got '", *twice, "' twice"));
  }
}

/// Marks what `op` makes in `made`, after all that it reads was there.
void check_order(const Graph& graph, const Op& op, Table<TensorId, char>& made) {
  for (const Operand& operand : op.operands) {
    const auto t = operand.tensor;
    if (operand.access == Access::Write) {
      if (made[t] != 0) {
        throw InvalidInput(text("op '", op.name, "' writes '", graph.tensors[t].name,
                                "', which is there already"));
      }
      made[t] = 1;
    } else if (made[t] == 0) {
      throw InvalidInput(
          text("op '", op.name, "' reads '", graph.tensors[t].name, "' before it is written"));
    }
  }
}

/// What is there before the first op: all that no op writes.
Table<TensorId, char> given(const Graph& graph) {
  Table<TensorId, char> made(graph.tensors.size());
  for (const TensorId t : made.ids()) {
    const Home home = graph.tensors[t].home;
    made[t] = in_hbm(graph.tensors[t]) || home == Home::Input ? 1 : 0;
  }
  for (const Op& op : graph.ops) {
    for (const Operand& operand : op.operands) {
      if (operand.access == Access::Write) {
        made[operand.tensor] = 0;
      }
    }
  }
  return made;
}

void check_positions(const Graph& graph) {
  for (const Store& store : graph.stores) {
    if (!within(store.tensor.value, graph.tensors.size()) ||
        !within(store.op.value, graph.ops.size())) {
      throw InvalidInput(text("a store names tensor ", store.tensor, " of op ", store.op,
                              ", which are not in the graph"));
    }
    const Table<OperandId, Operand>& operands = graph.ops[store.op].operands;
    if (std::ranges::none_of(operands, [&](const Operand& operand) {
          return operand.tensor == store.tensor && operand.access == Access::Write;
        })) {
      throw InvalidInput(text("a store names tensor '", graph.tensors[store.tensor].name,
                              "', which op ", store.op, " does not write"));
    }
    if (store.run < Bytes{1}) {
      throw InvalidInput(text("a store's run must be positive, got ", store.run.value, " bytes"));
    }
  }
  for (const TensorId output : graph.outputs) {
    if (!within(output.value, graph.tensors.size())) {
      throw InvalidInput(text("output ", output, " is not in the graph"));
    }
  }
}

}  // namespace

std::int64_t bits(DType dtype) { return info(dtype).bits; }

const char* name(DType dtype) { return info(dtype).name; }

const char* name(OpKind kind) {
  static constexpr std::array<const char*, 15> kNames{
      "matmul", "conv",       "depthwise_conv", "pool",           "elementwise",
      "reduce", "softmax",    "norm",           "gather",         "copy",
      "opaque", "all_reduce", "all_gather",     "reduce_scatter", "all_to_all"};
  return kNames.at(static_cast<std::size_t>(kind));
}

bool is_collective(OpKind kind) { return kind >= OpKind::AllReduce; }

bool in_hbm(const Tensor& tensor) {
  return tensor.home == Home::Weight || tensor.home == Home::State || tensor.home == Home::Spilled;
}

std::int64_t elements(const Tensor& tensor) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1},
                         std::multiplies<>());
}

Bytes bytes(const Tensor& tensor) { return {ceil_div(elements(tensor) * bits(tensor.dtype), 8)}; }

std::vector<TensorId> tensors_of(const Op& op) {
  std::vector<TensorId> result;
  for (const Operand& operand : op.operands) {
    if (std::find(result.begin(), result.end(), operand.tensor) == result.end()) {
      result.push_back(operand.tensor);
    }
  }
  return result;
}

Op instantiate(const Op& pattern, std::string name, TableView<TensorId, const TensorId> tensors) {
  const auto at = [&](TensorId position) {
    if (!within(position.value, tensors.size())) {
      throw InvalidInput(
          text("op '", name, "' needs ", position + 1, " tensors, got ", tensors.size()));
    }
    return tensors[position];
  };
  Op op = pattern;
  for (Operand& operand : op.operands) {
    operand.tensor = at(operand.tensor);
    if (operand.indirect) {
      operand.indirect->index = at(operand.indirect->index);
    }
  }
  op.name = std::move(name);
  return op;
}

void validate(const Graph& graph) {
  if (graph.ops.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw InvalidInput("a graph must have fewer than 2^31 ops");
  }
  for (const Tensor& tensor : graph.tensors) {
    check_elements(tensor.shape, [&] { return text("tensor '", tensor.name, "'"); });
  }
  check_names(graph);
  for (const Op& op : graph.ops) {
    OpChecker(graph, op).check();
  }
  Table<TensorId, char> made = given(graph);
  for (const Op& op : graph.ops) {
    check_order(graph, op, made);
  }
  check_positions(graph);
  check_spilled(graph);
}

}  // namespace elk::ir
