#include "elk/ir/waves.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/base/text.hpp"
#include "elk/ir/rounds.hpp"

namespace elk::ir {
namespace {

/// Makes the graph in which chains go in waves.
class WaveBuilder {
 public:
  explicit WaveBuilder(const Graph& graph) : graph_(graph), new_place_(graph.ops.size(), -1) {}

  WaveGraph build(std::span<const Chain> chains) {
    result_.graph.name = graph_.name;
    result_.graph.tensors = graph_.tensors;
    for (const TensorId t : graph_.tensors.ids()) {
      result_.tensor_of.push_back(t);
      result_.dim_of.push_back(DimId::none);
      names_.insert(graph_.tensors[t].name);
    }
    OpId next{0};
    for (const Chain& chain : chains) {
      for (; next < chain.links.front().op; ++next) {
        add(next);
      }
      next = add_chain(chain);
    }
    for (; next.index() < graph_.ops.size(); ++next) {
      add(next);
    }
    finish();
    return std::move(result_);
  }

 private:
  struct WaveRange {
    std::int64_t begin;
    std::int64_t length;
  };
  struct WavePart {
    TensorId tensor;
    WaveRange stretch;
  };
  struct WaveParts {
    DimId dim;
    std::vector<WavePart> parts;
  };

  /// The ops of a chain wave by wave, those among them that need none of it before, others behind;
  /// returns the first op after the chain.
  OpId add_chain(const Chain& chain) {
    const std::vector<OpId> behind = add_before(chain);
    made_here_.clear();
    const std::int64_t length = ceil_div(chain.length, chain.waves);
    for (std::int64_t begin = 0, wave = 0; begin < chain.length; begin += length, ++wave) {
      for (const Chain::ChainOp& one : chain.links) {
        add_wave(one, {.begin = begin, .length = std::min(length, chain.length - begin)}, wave);
      }
    }
    for (const OpId i : behind) {
      add(i);
    }
    return chain.links.back().op + 1;
  }

  /// The ops among those of a chain that need none of it; returns the others.
  std::vector<OpId> add_before(const Chain& chain) {
    const OpId end = chain.links.back().op + 1;
    std::vector<OpId> behind;
    std::set<TensorId> made;  // by the chain, or of what it made
    auto link = chain.links.begin();
    for (OpId i = chain.links.front().op; i < end; ++i) {
      const bool member = link->op == i;
      const Table<OperandId, Operand>& operands = graph_.ops[i].operands;
      const bool follows = member || std::ranges::any_of(operands, [&](const Operand& operand) {
                             return made.contains(operand.tensor);
                           });
      for (const Operand& operand : operands) {
        if (follows && operand.access == Access::Write) {
          made.insert(operand.tensor);
        }
      }
      if (member) {
        ++link;
      } else if (follows) {
        behind.push_back(i);
      } else {
        add(i);
      }
    }
    return behind;
  }

  void add_wave(const Chain::ChainOp& link, WaveRange stretch, std::int64_t wave) {
    const Op& whole = graph_.ops[link.op];
    Op op = whole;
    op.name += text("#", wave);
    shorten(op, link.axis, stretch.length);
    op.operands.clear();
    for (Operand operand : whole.operands) {
      if (operand.access == Access::Write) {
        operand.tensor = make(operand, link, stretch, wave);
        op.operands.push_back(std::move(operand));
        continue;
      }
      const bool along = made_here_.contains(operand.tensor);
      const WaveParts* parts = along ? &parts_.at(operand.tensor) : nullptr;
      for (const DimId d : operand.dims.ids()) {
        if (!along || d != parts->dim) {  // A part is read from its beginning.
          move(operand.dims[d], link.axis, stretch.begin);
        }
      }
      if (along) {
        operand.tensor = parts->parts[subscript(wave)].tensor;
        op.operands.push_back(std::move(operand));
      } else {
        read(op, operand);
      }
    }
    push(std::move(op), link.op);
  }

  /// Lets `axis` count from `begin` on.
  static void move(Dim& dim, AxisId axis, std::int64_t begin) {
    for (std::size_t k = 0; k < dim.axes.size(); ++k) {
      dim.offset += dim.axes[k] == axis ? dim.coef[k] * begin : 0;
    }
  }

  TensorId make(const Operand& operand, const Chain::ChainOp& link, WaveRange stretch,
                std::int64_t wave) {
    const DimId dim = *made_along(graph_, graph_.ops[link.op], operand, link.axis);
    WaveParts& parts =
        parts_.try_emplace(operand.tensor, WaveParts{.dim = dim, .parts = {}}).first->second;
    Tensor part = graph_.tensors[operand.tensor];
    part.name += text("#", wave);
    while (!names_.insert(part.name).second) {
      part.name += "#";
    }
    part.shape[dim] = stretch.length;
    const auto number = static_cast<std::int32_t>(result_.graph.tensors.size());
    result_.graph.tensors.push_back(std::move(part));
    result_.tensor_of.push_back(operand.tensor);
    result_.dim_of.push_back(dim);
    parts.parts.push_back({.tensor = TensorId{number}, .stretch = stretch});
    made_here_.insert(operand.tensor);
    return TensorId{number};
  }

  /// Adds a read to `op`: of what lies in parts, of those parts of which it touches anything.
  void read(Op& op, const Operand& operand) const {
    const auto found = parts_.find(operand.tensor);
    if (found == parts_.end()) {
      op.operands.push_back(operand);
      return;
    }
    for (const WavePart& part : found->second.parts) {
      Operand own = operand;
      own.tensor = part.tensor;
      Dim& dim = own.dims[found->second.dim];
      dim.offset -= part.stretch.begin;
      std::int64_t last = dim.offset;
      for (std::size_t k = 0; k < dim.axes.size(); ++k) {
        last += dim.coef[k] * (op.axes[dim.axes[k]].size - 1);
      }
      if (last >= 0 && dim.offset < part.stretch.length) {
        op.operands.push_back(std::move(own));
      }
    }
  }

  /// An op as it is, reading what lies in parts part by part.
  void add(OpId i) {
    Op op = graph_.ops[i];
    op.operands.clear();
    for (const Operand& operand : graph_.ops[i].operands) {
      read(op, operand);  // What it writes lies whole.
    }
    push(std::move(op), i);
  }

  void push(Op op, OpId from) {
    new_place_[from] = static_cast<std::int32_t>(result_.graph.ops.size());
    result_.graph.ops.push_back(std::move(op));
    result_.op_of.push_back(from);
  }

  /// Stores and outputs, and tensors without those that lie in parts only.
  void finish() {
    Table<TensorId, std::int32_t> moved(result_.graph.tensors.size(), -1);
    WaveGraph packed{.graph = {}, .op_of = std::move(result_.op_of), .tensor_of = {}, .dim_of = {}};
    packed.graph = std::move(result_.graph);
    Table<TensorId, Tensor> tensors;
    for (const TensorId t : moved.ids()) {
      if (parts_.contains(t)) {
        continue;
      }
      moved[t] = static_cast<std::int32_t>(tensors.size());
      tensors.push_back(std::move(packed.graph.tensors[t]));
      packed.tensor_of.push_back(result_.tensor_of[t]);
      packed.dim_of.push_back(result_.dim_of[t]);
    }
    packed.graph.tensors = std::move(tensors);
    for (Op& op : packed.graph.ops) {
      for (Operand& operand : op.operands) {
        operand.tensor = TensorId{moved[operand.tensor]};
        if (operand.indirect) {
          operand.indirect->index = TensorId{moved[operand.indirect->index]};
        }
      }
    }
    for (Store store : graph_.stores) {
      store.tensor = TensorId{moved[store.tensor]};
      store.op = OpId{new_place_[store.op]};
      packed.graph.stores.push_back(store);
    }
    for (const TensorId output : graph_.outputs) {
      packed.graph.outputs.emplace_back(moved[output]);
    }
    validate(packed.graph);
    packed.graph.repeat = find_repeat(packed.graph);
    result_ = std::move(packed);
  }

  const Graph& graph_;
  Table<OpId, std::int32_t> new_place_;
  std::set<std::string> names_;  // of tensors
  std::map<TensorId, WaveParts> parts_;
  std::set<TensorId> made_here_;  // the tensors among them that the chain at hand makes
  WaveGraph result_{.graph = {}, .op_of = {}, .tensor_of = {}, .dim_of = {}};
};

}  // namespace

WaveGraph in_waves(const Graph& graph, std::span<const Chain> chains) {
  return WaveBuilder(graph).build(chains);
}

}  // namespace elk::ir
