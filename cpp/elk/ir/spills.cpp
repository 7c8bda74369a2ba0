#include "elk/ir/spills.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "elk/base/errors.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/text.hpp"
#include "elk/ir/chains.hpp"
#include "elk/ir/touched.hpp"

namespace elk::ir {
namespace {

/// Refuses a store whose part does not lie within the spilled tensor, or in another type.
void check_place(const Graph& graph, const Store& store) {
  if (store.into < TensorId{0} || store.into.index() >= graph.tensors.size()) {
    throw InvalidInput(text("a store goes into tensor ", store.into, ", which is not there"));
  }
  const Tensor& part = graph.tensors[store.tensor];
  const Tensor& whole = graph.tensors[store.into];
  bool fits = whole.home == Home::Spilled && part.dtype == whole.dtype &&
              part.shape.size() == whole.shape.size() && store.begin.size() == part.shape.size();
  for (const DimId d : part.shape.ids()) {
    fits = fits && store.begin[d] >= 0 && store.begin[d] <= whole.shape[d] - part.shape[d];
  }
  if (!fits) {
    throw InvalidInput(text("the store of '", part.name, "' must lie within a spilled tensor, not ",
                            "in '", whole.name, "' there"));
  }
}

bool overlap(const Graph& graph, const Store& a, const Store& b) {
  const auto& sizes = graph.tensors[a.tensor].shape;
  const auto& others = graph.tensors[b.tensor].shape;
  return std::ranges::all_of(sizes.ids(), [&](DimId d) {
    return a.begin[d] < b.begin[d] + others[d] && b.begin[d] < a.begin[d] + sizes[d];
  });
}

/// Refuses stores into one tensor that overlap or leave anything out.
void check_filled(const Graph& graph, TensorId tensor, const std::vector<const Store*>& stores) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < stores.size(); ++i) {
    sum += elements(graph.tensors[stores[i]->tensor]);
    for (std::size_t j = 0; j < i; ++j) {
      if (overlap(graph, *stores[i], *stores[j])) {
        throw InvalidInput(text("stores of '", graph.tensors[stores[j]->tensor].name, "' and '",
                                graph.tensors[stores[i]->tensor].name, "' overlap in '",
                                graph.tensors[tensor].name, "'"));
      }
    }
  }
  if (!stores.empty() && sum != elements(graph.tensors[tensor])) {
    throw InvalidInput(text("stores fill ", sum, " elements of '", graph.tensors[tensor].name,
                            "', which has ", elements(graph.tensors[tensor])));
  }
}

/// Refuses ops that write a spilled tensor, or read it before all of it is stored.
void check_reads(const Graph& graph) {
  const Table<TensorId, OpId> last = filled_by(graph);
  for (const OpId i : graph.ops.ids()) {
    for (const Operand& operand : graph.ops[i].operands) {
      const bool writes = operand.access == Access::Write;
      const Tensor& tensor = graph.tensors[operand.tensor];
      if (tensor.home == Home::Spilled && (writes || last[operand.tensor] >= i)) {
        throw InvalidInput(text("op '", graph.ops[i].name, "' ", writes ? "writes '" : "reads '",
                                tensor.name, "', which stores before it must fill"));
      }
    }
  }
}

/// The op that makes each tensor, or none.
Table<TensorId, OpId> makers(const Graph& graph) {
  Table<TensorId, OpId> made(graph.tensors.size(), OpId::none);
  for (const OpId i : graph.ops.ids()) {
    for (const Operand& operand : graph.ops[i].operands) {
      made[operand.tensor] = operand.access == Access::Write ? i : made[operand.tensor];
    }
  }
  return made;
}

/// Has ops from that in `from` on read the copies of tensors that have one.
void read_copies(Graph& graph, const Table<TensorId, TensorId>& copy,
                 const Table<TensorId, OpId>& from) {
  for (const OpId i : graph.ops.ids()) {
    for (Operand& operand : graph.ops[i].operands) {
      const TensorId t = operand.tensor;
      const bool has_one = t.index() < copy.size() && copy[t] != TensorId::none;
      if (operand.access == Access::Read && has_one && i >= from[t]) {
        operand.tensor = copy[t];
      }
    }
  }
}

/// When tensors are read, and what is left of that at an op.
class ReadOrder {
 public:
  explicit ReadOrder(const Graph& graph)
      : of_(graph.tensors.size()), next_(graph.tensors.size(), 0) {
    for (const OpId i : graph.ops.ids()) {
      for (const Operand& operand : graph.ops[i].operands) {
        if (operand.access == Access::Read &&
            (of_[operand.tensor].empty() || of_[operand.tensor].back() != i)) {
          of_[operand.tensor].push_back(i);
        }
      }
    }
  }

  /// The first op from `now` on, in calls of which `now` does not fall, that reads it, or none.
  [[nodiscard]] OpId next(TensorId tensor, OpId now) {
    const std::vector<OpId>& reads = of_[tensor];
    std::size_t& at = next_[tensor];
    while (at < reads.size() && reads[at] < now) {
      ++at;
    }
    return at < reads.size() ? reads[at] : OpId::none;
  }

  [[nodiscard]] bool begins(TensorId tensor, OpId op) const {
    return !of_[tensor].empty() && of_[tensor].front() == op;
  }

 private:
  Table<TensorId, std::vector<OpId>> of_;
  Table<TensorId, std::size_t> next_;
};

/// Decides what is spilled while it goes through the ops of a graph.
class Spiller {
 public:
  Spiller(const Graph& graph, double most)
      : graph_(graph),
        most_(most),
        reads_(graph),
        may_be_(may_be_spilled(graph)),
        from_(graph.tensors.size(), OpId::none) {}

  Table<TensorId, OpId> decide() {
    for (const OpId i : graph_.ops.ids()) {
      begin(i);
      const double beside = copies(i);
      while (resting_ + beside > most_ && spill_one(i)) {
      }
      std::erase_if(live_, [&](TensorId t) {
        const bool ends = reads_.next(t, i + 1) == OpId::none;
        resting_ -= ends ? size(t) : 0.0;
        return ends;
      });
    }
    return std::move(from_);
  }

 private:
  [[nodiscard]] double size(TensorId t) const {
    return static_cast<double>(bytes(graph_.tensors[t]).value);
  }

  /// Lets what op `i` makes, and the graph inputs that it is the first to read, live.
  void begin(OpId i) {
    for (const TensorId t : tensors_of(graph_.ops[i])) {
      const bool input = graph_.tensors[t].home == Home::Input && reads_.begins(t, i);
      if (input || writes(i, t)) {
        live_.push_back(t);
        resting_ += size(t);
      }
    }
  }

  [[nodiscard]] bool writes(OpId i, TensorId t) const {
    return std::ranges::any_of(graph_.ops[i].operands, [t](const Operand& operand) {
      return operand.tensor == t && operand.access == Access::Write;
    });
  }

  /// Bytes of what op `i` reads, which may lie elsewhere or otherwise than it needs it.
  [[nodiscard]] double copies(OpId i) const {
    double made = 0.0;
    for (const Operand& operand : graph_.ops[i].operands) {
      made += operand.access == Access::Write ? touched(graph_, graph_.ops[i], operand) : 0.0;
    }
    return touched(graph_, graph_.ops[i]).all() - made;
  }

  /// Spills what is read again last of all that op `i` does not make; false: there is nothing.
  bool spill_one(OpId i) {
    const auto rank = [&](TensorId t) { return std::tuple(reads_.next(t, i), size(t), -t.value); };
    auto best = live_.end();
    for (auto one = live_.begin(); one != live_.end(); ++one) {
      if (may_be_[*one] != 0 && !writes(i, *one) && reads_.next(*one, i) != OpId::none &&
          (best == live_.end() || rank(*one) > rank(*best))) {
        best = one;
      }
    }
    if (best == live_.end()) {
      return false;
    }
    from_[*best] = graph_.tensors[*best].home == Home::Input ? OpId{0} : reads_.next(*best, i);
    resting_ -= size(*best);
    live_.erase(best);
    return true;
  }

  const Graph& graph_;
  double most_;
  ReadOrder reads_;
  Table<TensorId, char> may_be_;
  Table<TensorId, OpId> from_;
  std::vector<TensorId> live_;
  double resting_ = 0.0;
};

}  // namespace

Bytes contiguous(const Tensor& part, const Tensor& whole) {
  std::int64_t elements = 1;
  for (std::size_t d = part.shape.size(); d-- > 0;) {
    const auto dim = id_at<DimId>(d);
    elements *= part.shape[dim];
    if (part.shape[dim] != whole.shape[dim]) {
      break;
    }
  }
  return {ceil_div(elements * bits(part.dtype), 8)};
}

void store_into(Graph& graph, Store part) {
  const Bytes run = contiguous(graph.tensors[part.tensor], graph.tensors[part.into]);
  const auto found = std::ranges::find(graph.stores, part.tensor, &Store::tensor);
  if (found != graph.stores.end()) {
    found->into = part.into;
    found->begin = std::move(part.begin);
    return;
  }
  part.run = run;
  graph.stores.push_back(std::move(part));
}

Table<TensorId, OpId> filled_by(const Graph& graph) {
  Table<TensorId, OpId> last(graph.tensors.size(), OpId::none);
  for (const Store& store : graph.stores) {
    const TensorId filled = store.into != TensorId::none ? store.into : store.tensor;
    last[filled] = std::max(last[filled], store.op);
  }
  return last;
}

void check_spilled(const Graph& graph) {
  Table<TensorId, std::vector<const Store*>> stores(graph.tensors.size());
  for (const Store& store : graph.stores) {
    if (store.into != TensorId::none) {
      check_place(graph, store);
      stores[store.into].push_back(&store);
    }
  }
  for (const TensorId t : stores.ids()) {
    check_filled(graph, t, stores[t]);
  }
  check_reads(graph);
}

Table<TensorId, char> may_be_spilled(const Graph& graph) {
  Table<TensorId, char> result = kept_whole(graph);
  for (const TensorId t : result.ids()) {
    const Tensor& tensor = graph.tensors[t];
    result[t] = static_cast<char>(result[t] == 0 && !in_hbm(tensor));
  }
  for (const Store& store : graph.stores) {
    if (store.into != TensorId::none) {
      result[store.tensor] = 0;
    }
  }
  return result;
}

WaveGraph spilled(WaveGraph parts, const Table<TensorId, OpId>& from) {
  Graph& graph = parts.graph;
  std::set<std::string> names;
  for (const Tensor& tensor : graph.tensors) {
    names.insert(tensor.name);
  }
  const Table<TensorId, OpId> made = makers(graph);
  Table<TensorId, TensorId> copy(graph.tensors.size(), TensorId::none);
  for (const TensorId t : from.ids()) {
    if (from[t] == OpId::none) {
      continue;
    }
    if (made[t] == OpId::none) {
      graph.tensors[t].home = Home::Spilled;
      continue;
    }
    copy[t] = id_at<TensorId>(graph.tensors.size());
    Tensor there = graph.tensors[t];
    there.home = Home::Spilled;
    there.name = unused_name(there.name + "~hbm", names);
    Table<DimId, std::int64_t> begin(there.shape.size(), 0);
    graph.tensors.push_back(std::move(there));
    parts.part_of.push_back(PartOf(parts.part_of[t]));
    store_into(
        graph,
        {.tensor = t, .op = made[t], .run = {0}, .into = copy[t], .begin = std::move(begin)});
  }
  read_copies(graph, copy, from);
  std::ranges::stable_sort(graph.stores, {}, &Store::op);
  validate(graph);
  graph.repeat.reset();
  graph.repeat = find_repeat(graph);
  return parts;
}

WaveGraph spilled_to_fit(WaveGraph parts, double most) {
  const Table<TensorId, OpId> from = Spiller(parts.graph, most).decide();
  if (std::ranges::all_of(from, [](OpId op) { return op == OpId::none; })) {
    return parts;
  }
  return spilled(std::move(parts), from);
}

}  // namespace elk::ir
