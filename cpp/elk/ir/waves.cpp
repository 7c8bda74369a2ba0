#include "elk/ir/waves.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/base/text.hpp"
#include "elk/ir/ir_tuning.hpp"
#include "elk/ir/rounds.hpp"
#include "elk/ir/spills.hpp"
#include "elk/ir/touched.hpp"

namespace elk::ir {
namespace {

Table<DimId, std::int64_t> origin(const Tensor& tensor) {
  Table<DimId, std::int64_t> zeros(tensor.shape.size(), 0);
  return zeros;
}

/// Distinct picks expected of a part of those of an op, if all indices are as likely.
double picks_of_part(const Indirect& indirect, double rows, double share, double count) {
  const double missed = 1.0 - std::min(indirect.expected_picks / rows, 1.0);
  return std::min(count, rows * (1.0 - std::pow(missed, share)));
}

/// Makes the graph in which chains go in waves.
class WaveBuilder {
 public:
  /// All ops outside a chain read those of its results from HBM that are `spilled`.
  WaveBuilder(const WaveGraph& parts, const std::set<TensorId>& spilled)
      : parts_(parts),
        graph_(parts.graph),
        may_be_spilled_(may_be_spilled(parts.graph)),
        spilled_(spilled),
        new_place_(graph_.ops.size()) {}

  WaveGraph build(std::span<const Chain> chains) {
    result_.graph.name = graph_.name;
    result_.graph.tensors = graph_.tensors;
    result_.part_of = parts_.part_of;
    for (const Tensor& tensor : graph_.tensors) {
      names_.insert(tensor.name);
    }
    for (const Chain& chain : chains) {
      for (const std::pair<const TensorId, DimId>& input : chain.inputs) {
        for_each_wave(chain, [&](WaveRange stretch, std::int64_t wave) {
          add_part(input.first, input.second, stretch, wave);
        });
      }
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
    add_stores();
    finish();
    return std::move(result_);
  }

  /// Results of chains of which an op outside reads many parts.
  [[nodiscard]] const std::set<TensorId>& read_in_parts() const { return read_in_parts_; }

 private:
  struct WaveRange {
    std::int64_t begin;
    std::int64_t length;
  };
  struct WavePart {
    TensorId tensor;
    OpId op;  // the one that makes it
    WaveRange stretch;
  };
  struct WaveParts {
    DimId dim;
    std::vector<WavePart> parts;
    TensorId spilled;  // the tensor in HBM that they fill, or none
  };

  template <class Visit>
  static void for_each_wave(const Chain& chain, const Visit& visit) {
    const std::int64_t length = ceil_div(chain.length, chain.waves);
    for (std::int64_t begin = 0, wave = 0; begin < chain.length; begin += length, ++wave) {
      visit({.begin = begin, .length = std::min(length, chain.length - begin)}, wave);
    }
  }

  /// The ops of a chain wave by wave, those among them that need none of it before, others behind;
  /// returns the first op after the chain.
  OpId add_chain(const Chain& chain) {
    const std::vector<OpId> behind = add_before(chain);
    made_here_.clear();
    for_each_wave(chain, [&](WaveRange stretch, std::int64_t wave) {
      for (const Chain::ChainOp& one : chain.links) {
        add_wave(one, stretch, wave);
      }
    });
    made_here_.clear();
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
      if (operand.indirect) {
        pick(operand, op, whole.axes[link.axis].size, link.axis);
      }
      const WaveParts* parts = own_parts(operand, link.axis);
      const bool along = parts != nullptr;
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

  /// The parts of which a wave along `axis` reads its own: of results of the chain, and of inputs
  /// that come wave by wave. Null: it may need any.
  [[nodiscard]] const WaveParts* own_parts(const Operand& operand, AxisId axis) const {
    const auto found = made_.find(operand.tensor);
    if (found == made_.end()) {
      return nullptr;
    }
    const bool is_input = graph_.tensors[operand.tensor].home == Home::Input;
    const Dim& dim = operand.dims[found->second.dim];
    const bool along = dim.axes == std::vector{axis} && dim.offset == 0;
    return made_here_.contains(operand.tensor) || (is_input && along) ? &found->second : nullptr;
  }

  /// Lets `axis` count from `begin` on.
  static void move(Dim& dim, AxisId axis, std::int64_t begin) {
    for (std::size_t k = 0; k < dim.axes.size(); ++k) {
      dim.offset += dim.axes[k] == axis ? dim.coef[k] * begin : 0;
    }
  }

  /// Lets `operand` pick as much as `op` does, whose `axis` had `size` before.
  void pick(Operand& operand, const Op& op, std::int64_t size, AxisId axis) const {
    Indirect& indirect = *operand.indirect;
    if (std::ranges::find(indirect.axes, axis) == indirect.axes.end()) {
      return;
    }
    double count = 1.0;
    for (const AxisId one : indirect.axes) {
      count *= static_cast<double>(op.axes[one].size);
    }
    const auto rows = static_cast<double>(graph_.tensors[operand.tensor].shape[indirect.dim]);
    const double share = static_cast<double>(op.axes[axis].size) / static_cast<double>(size);
    indirect.expected_picks = picks_of_part(indirect, rows, share, count);
  }

  TensorId make(const Operand& operand, const Chain::ChainOp& link, WaveRange stretch,
                std::int64_t wave) {
    const DimId dim = *made_along(graph_, graph_.ops[link.op], operand, link.axis);
    made_here_.insert(operand.tensor);
    return add_part(operand.tensor, dim, stretch, wave);
  }

  /// Adds a tensor for a wave's part of another.
  TensorId add_part(TensorId of, DimId dim, WaveRange stretch, std::int64_t wave) {
    const Tensor& whole = graph_.tensors[of];
    const auto [found, is_new] =
        made_.try_emplace(of, WaveParts{.dim = dim, .parts = {}, .spilled = TensorId::none});
    WaveParts& parts = found->second;
    if (is_new && spilled_.contains(of)) {
      Tensor copy = whole;
      copy.home = Home::Spilled;
      copy.name = unused_name(whole.name + "~hbm", names_);
      parts.spilled = add_tensor(std::move(copy), parts_.part_of[of]);
    }
    PartOf from = parts_.part_of[of];
    from.begin[dim] += stretch.begin;
    Tensor part = whole;
    part.name = unused_name(whole.name + text("#", wave), names_);
    part.shape[dim] = stretch.length;
    const TensorId number = add_tensor(std::move(part), std::move(from));
    parts.parts.push_back({.tensor = number, .op = next_op(), .stretch = stretch});
    return number;
  }

  TensorId add_tensor(Tensor tensor, PartOf from) {
    const auto number = id_at<TensorId>(result_.graph.tensors.size());
    result_.graph.tensors.push_back(std::move(tensor));
    result_.part_of.push_back(std::move(from));
    return number;
  }

  /// Whether an op reads anything of an operand: of parts of one value it may need some.
  static bool is_touched(const Op& op, const Operand& operand,
                         const Table<DimId, std::int64_t>& shape) {
    return std::ranges::all_of(operand.dims.ids(), [&](DimId d) {
      const CountedRange range = counted(op, operand.dims[d]);
      return range.last >= 0 && range.first < shape[d];
    });
  }

  /// Adds a read to `op`: of what lies in parts, of those parts of which it touches anything.
  void read(Op& op, Operand operand) {
    const auto found = made_.find(operand.tensor);
    if (found == made_.end()) {
      if (is_touched(op, operand, graph_.tensors[operand.tensor].shape)) {
        op.operands.push_back(std::move(operand));
      }
      return;
    }
    const WaveParts& lying = found->second;
    if (lying.spilled != TensorId::none) {
      operand.tensor = lying.spilled;
      op.operands.push_back(std::move(operand));
      return;
    }
    std::size_t count = 0;
    for (const WavePart& part : lying.parts) {
      Operand own = operand;
      own.tensor = part.tensor;
      own.dims[lying.dim].offset -= part.stretch.begin;
      if (is_touched(op, own, result_.graph.tensors[part.tensor].shape)) {
        op.operands.push_back(std::move(own));
        ++count;
      }
    }
    if (count > tuning::kMostParts && may_be_spilled_[operand.tensor] != 0) {
      read_in_parts_.insert(operand.tensor);
    }
  }

  /// An op as it is, reading what lies in parts part by part.
  void add(OpId i) {
    Op op = graph_.ops[i];
    op.operands.clear();
    for (const Operand& operand : graph_.ops[i].operands) {
      if (operand.access == Access::Write) {
        op.operands.push_back(operand);  // What it writes lies whole.
      } else {
        read(op, operand);
      }
    }
    push(std::move(op), i);
  }

  [[nodiscard]] OpId next_op() const { return id_at<OpId>(result_.graph.ops.size()); }

  void push(Op op, OpId from) {
    new_place_[from] = next_op();
    result_.graph.ops.push_back(std::move(op));
    result_.op_of.push_back(parts_.op_of[from]);
  }

  /// The stores of the graph, in parts where what they store is, and those of what is spilled.
  void add_stores() {
    std::vector<Store>& stores = result_.graph.stores;
    for (const Store& store : graph_.stores) {
      const auto found = made_.find(store.tensor);
      if (found == made_.end()) {
        stores.push_back(store);
        stores.back().op = new_place_[store.op];
        continue;
      }
      for (const WavePart& part : found->second.parts) {
        Store own = store;
        own.tensor = part.tensor;
        own.op = part.op;
        own.run = std::min(
            own.run, contiguous(result_.graph.tensors[part.tensor], graph_.tensors[store.tensor]));
        if (own.into != TensorId::none) {
          own.begin[found->second.dim] += part.stretch.begin;
        }
        stores.push_back(std::move(own));
      }
    }
    for (const auto& [tensor, lying] : made_) {
      for (const WavePart& part : lying.parts) {
        if (lying.spilled != TensorId::none) {
          Table<DimId, std::int64_t> begin = origin(graph_.tensors[tensor]);
          begin[lying.dim] = part.stretch.begin;
          store_into(result_.graph, {.tensor = part.tensor,
                                     .op = part.op,
                                     .run = {0},
                                     .into = lying.spilled,
                                     .begin = std::move(begin)});
        }
      }
    }
    std::ranges::stable_sort(stores, {}, &Store::op);
  }

  /// Outputs, and tensors without those that lie in parts only.
  void finish() {
    Graph& graph = result_.graph;
    for (const TensorId output : graph_.outputs) {
      const auto found = made_.find(output);
      if (found == made_.end()) {
        graph.outputs.push_back(output);
        continue;
      }
      for (const WavePart& part : found->second.parts) {
        graph.outputs.push_back(part.tensor);
      }
    }
    Table<TensorId, char> out(graph.tensors.size(), 0);
    for (const auto& [tensor, parts] : made_) {
      out[tensor] = 1;
    }
    drop_tensors(out, result_);
    validate(graph);
    graph.repeat = find_repeat(graph);
  }

  const WaveGraph& parts_;
  const Graph& graph_;
  Table<TensorId, char> may_be_spilled_;
  const std::set<TensorId>& spilled_;
  Table<OpId, OpId> new_place_;
  std::set<std::string> names_;         // of tensors
  std::map<TensorId, WaveParts> made_;  // what lies in parts
  std::set<TensorId> made_here_;        // the tensors among them that the chain at hand makes
  std::set<TensorId> read_in_parts_;
  WaveGraph result_{.graph = {}, .op_of = {}, .part_of = {}};
};

}  // namespace

WaveGraph in_waves(const WaveGraph& parts, std::span<const Chain> chains) {
  const std::set<TensorId> none;
  WaveBuilder first(parts, none);
  WaveGraph found = first.build(chains);
  if (first.read_in_parts().empty()) {
    return found;
  }
  return WaveBuilder(parts, first.read_in_parts()).build(chains);
}

}  // namespace elk::ir
