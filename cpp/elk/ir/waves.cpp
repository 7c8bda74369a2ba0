#include "elk/ir/waves.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/text.hpp"

namespace elk::ir {
namespace {

/// Makes the graph in which chains go in waves.
class WaveBuilder {
 public:
  explicit WaveBuilder(const Graph& graph) : graph_(graph), new_place_(graph.ops.size(), -1) {}

  WaveGraph build(std::span<const Chain> chains) {
    result_.graph.name = graph_.name;
    result_.graph.tensors = graph_.tensors;
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
      result_.tensor_of.push_back(static_cast<std::int32_t>(t));
      result_.dim_of.push_back(-1);
      names_.insert(graph_.tensors[t].name);
    }
    std::size_t next = 0;
    for (const Chain& chain : chains) {
      for (; next < subscript(chain.links.front().op); ++next) {
        add(next);
      }
      next = add_chain(chain);
    }
    for (; next < graph_.ops.size(); ++next) {
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
    std::int32_t tensor;
    WaveRange stretch;
  };
  struct WaveParts {
    std::int32_t dim;
    std::vector<WavePart> parts;
  };

  /// The ops of a chain wave by wave, those among them that need none of it before, others behind;
  /// returns the first op after the chain.
  std::size_t add_chain(const Chain& chain) {
    const std::vector<std::size_t> behind = add_before(chain);
    made_here_.clear();
    const std::int64_t length = ceil_div(chain.length, chain.waves);
    for (std::int64_t begin = 0, wave = 0; begin < chain.length; begin += length, ++wave) {
      for (const Chain::ChainOp& one : chain.links) {
        add_wave(one, {.begin = begin, .length = std::min(length, chain.length - begin)}, wave);
      }
    }
    for (const std::size_t i : behind) {
      add(i);
    }
    return subscript(chain.links.back().op) + 1;
  }

  /// The ops among those of a chain that need none of it; returns the others.
  std::vector<std::size_t> add_before(const Chain& chain) {
    const std::size_t end = subscript(chain.links.back().op) + 1;
    std::vector<std::size_t> behind;
    std::set<std::int32_t> made;  // by the chain, or of what it made
    auto link = chain.links.begin();
    for (std::size_t i = subscript(chain.links.front().op); i < end; ++i) {
      const bool member = subscript(link->op) == i;
      const std::vector<Operand>& operands = graph_.ops[i].operands;
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
    const Op& whole = graph_.ops[subscript(link.op)];
    Op op = whole;
    op.name += text("#", wave);
    std::int64_t& size = op.axes[subscript(link.axis)].size;
    op.flops = (op.flops / size * stretch.length) + (op.flops % size * stretch.length / size);
    size = stretch.length;
    op.operands.clear();
    for (Operand operand : whole.operands) {
      if (operand.access == Access::Write) {
        operand.tensor = make(operand, link, stretch, wave);
        op.operands.push_back(std::move(operand));
        continue;
      }
      const bool along = made_here_.contains(operand.tensor);
      const WaveParts* parts = along ? &parts_.at(operand.tensor) : nullptr;
      for (std::size_t d = 0; d < operand.dims.size(); ++d) {
        if (!along || d != subscript(parts->dim)) {  // A part is read from its beginning.
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
    push(std::move(op), subscript(link.op));
  }

  /// Lets `axis` count from `begin` on.
  static void move(Dim& dim, std::int32_t axis, std::int64_t begin) {
    for (std::size_t k = 0; k < dim.axes.size(); ++k) {
      dim.offset += dim.axes[k] == axis ? dim.coef[k] * begin : 0;
    }
  }

  std::int32_t make(const Operand& operand, const Chain::ChainOp& link, WaveRange stretch,
                    std::int64_t wave) {
    const std::int32_t dim =
        *made_along(graph_, graph_.ops[subscript(link.op)], operand, link.axis);
    WaveParts& parts =
        parts_.try_emplace(operand.tensor, WaveParts{.dim = dim, .parts = {}}).first->second;
    Tensor part = graph_.tensors[subscript(operand.tensor)];
    part.name += text("#", wave);
    while (!names_.insert(part.name).second) {
      part.name += "#";
    }
    part.shape[subscript(dim)] = stretch.length;
    const auto number = static_cast<std::int32_t>(result_.graph.tensors.size());
    result_.graph.tensors.push_back(std::move(part));
    result_.tensor_of.push_back(operand.tensor);
    result_.dim_of.push_back(dim);
    parts.parts.push_back({.tensor = number, .stretch = stretch});
    made_here_.insert(operand.tensor);
    return number;
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
      Dim& dim = own.dims[subscript(found->second.dim)];
      dim.offset -= part.stretch.begin;
      std::int64_t last = dim.offset;
      for (std::size_t k = 0; k < dim.axes.size(); ++k) {
        last += dim.coef[k] * (op.axes[subscript(dim.axes[k])].size - 1);
      }
      if (last >= 0 && dim.offset < part.stretch.length) {
        op.operands.push_back(std::move(own));
      }
    }
  }

  /// An op as it is, reading what lies in parts part by part.
  void add(std::size_t i) {
    Op op = graph_.ops[i];
    op.operands.clear();
    for (const Operand& operand : graph_.ops[i].operands) {
      read(op, operand);  // What it writes lies whole.
    }
    push(std::move(op), i);
  }

  void push(Op op, std::size_t from) {
    new_place_[from] = static_cast<std::int32_t>(result_.graph.ops.size());
    result_.graph.ops.push_back(std::move(op));
    result_.op_of.push_back(static_cast<std::int32_t>(from));
  }

  /// Stores and outputs, and tensors without those that lie in parts only.
  void finish() {
    std::vector<std::int32_t> moved(result_.graph.tensors.size(), -1);
    WaveGraph packed{.graph = {}, .op_of = std::move(result_.op_of), .tensor_of = {}, .dim_of = {}};
    packed.graph = std::move(result_.graph);
    std::vector<Tensor> tensors;
    for (std::size_t t = 0; t < moved.size(); ++t) {
      if (parts_.contains(static_cast<std::int32_t>(t))) {
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
        operand.tensor = moved[subscript(operand.tensor)];
        if (operand.indirect) {
          operand.indirect->index = moved[subscript(operand.indirect->index)];
        }
      }
    }
    for (Store store : graph_.stores) {
      store.tensor = moved[subscript(store.tensor)];
      store.op = new_place_[subscript(store.op)];
      packed.graph.stores.push_back(store);
    }
    for (const std::int32_t output : graph_.outputs) {
      packed.graph.outputs.push_back(moved[subscript(output)]);
    }
    validate(packed.graph);
    packed.graph.repeat = find_repeat(packed.graph);
    result_ = std::move(packed);
  }

  const Graph& graph_;
  std::vector<std::int32_t> new_place_;
  std::set<std::string> names_;  // of tensors
  std::map<std::int32_t, WaveParts> parts_;
  std::set<std::int32_t> made_here_;  // the tensors among them that the chain at hand makes
  WaveGraph result_{.graph = {}, .op_of = {}, .tensor_of = {}, .dim_of = {}};
};

}  // namespace

WaveGraph in_waves(const Graph& graph, std::span<const Chain> chains) {
  return WaveBuilder(graph).build(chains);
}

}  // namespace elk::ir
