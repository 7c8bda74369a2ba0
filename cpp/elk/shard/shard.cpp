#include "elk/shard/shard.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/shard/layers.hpp"
#include "elk/shard/routes.hpp"
#include "elk/shard/state.hpp"
#include "elk/shard/survivors.hpp"
#include "elk/shard/tally.hpp"
#include "elk/shard/uses.hpp"

namespace elk::shard {
namespace {

class Sharder {
 public:
  Sharder(const ShardingCosts& ways, const Wish& wish)
      : ways_(ways),
        graph_(ways.graph()),
        wish_(wish),
        uses_(uses(graph_)),
        makers_(graph_.tensors.size()),
        routes_(ways, wish.silent),
        survivors_(routes_) {
    for (std::size_t op = 0; op < graph_.ops.size(); ++op) {
      const std::vector<ir::Operand>& operands = graph_.ops[op].operands;
      for (std::size_t slot = 0; slot < operands.size(); ++slot) {
        if (operands[slot].access == ir::Access::Write && is_made(operands[slot])) {
          makers_[subscript(operands[slot].tensor)] = {static_cast<std::int32_t>(op),
                                                       static_cast<std::int32_t>(slot)};
        }
      }
    }
  }

  /// Empty if no state is left: what is asked cannot be had.
  std::optional<Sharding> run() {
    std::vector<ShardingState> states{{.live = {}, .time = 0, .pace = 0, .node = -1}};
    const auto end = static_cast<std::int32_t>(graph_.ops.size());
    const auto& repeat = graph_.repeat;
    if (repeat) {
      solve(0, repeat->begin, states);
      solve_layers(*repeat, states);
      solve(repeat->begin + (repeat->period * repeat->count), end, states);
    } else {
      solve(0, end, states);
    }
    return states.empty() ? std::nullopt : std::optional(result(states.front()));
  }

 private:
  /// Weights, states and inputs are read in any form: only what ops make is tracked.
  [[nodiscard]] bool is_made(const ir::Operand& operand) const {
    const ir::Home home = graph_.tensors[subscript(operand.tensor)].home;
    return home == ir::Home::Activation || home == ir::Home::Output;
  }

  /// States after an op, with the decision that led to each: its `node` is not known yet.
  struct Extended {
    std::vector<ShardingState> states;
    std::vector<Decision> nodes;
  };

  /// Ops [from, to), from the states before them to those after.
  void solve(std::int32_t from, std::int32_t to, std::vector<ShardingState>& states) {
    for (std::int32_t op = from; op < to; ++op) {
      const std::vector<std::int32_t> splits = splits_of(op);
      Extended next;
      for (const ShardingState& state : states) {
        for (const std::int32_t split : splits) {
          extend(state, op, split, next);
        }
      }
      states.clear();
      for (const std::size_t one : survivors_.among(next.states)) {
        states.push_back(std::move(next.states[one]));
        states.back().node = add(std::move(next.nodes[one]));
      }
    }
  }

  /// The splits of an op that may be of use.
  [[nodiscard]] std::vector<std::int32_t> splits_of(std::int32_t op) const {
    const std::vector<SplitCost>& parts = ways_.parts(op);
    std::vector<std::int32_t> result(parts.size());
    std::iota(result.begin(), result.end(), 0);
    std::erase_if(result, [&](std::int32_t k) {
      return !is_allowed(graph_.ops[subscript(op)], parts[subscript(k)].split, uses_, wish_.silent);
    });
    return result;
  }

  /// Layer after layer. Where the states at the ends of two are equal but for the time, and the
  /// differences of these stay as they are or grow evenly, all that is compared in a layer changes
  /// evenly from one to the next: as long as no comparison turns, all decide alike.
  void solve_layers(const ir::Repeat& repeat, std::vector<ShardingState>& states) {
    const std::int32_t first = first_to_repeat(graph_, uses_);
    std::vector<std::int64_t> grown;
    for (std::int32_t number = 0; number < repeat.count; ++number) {
      const std::vector<ShardingState> before = states;
      const std::int32_t begin = repeat.begin + (number * repeat.period);
      const std::int32_t left = repeat.count - number - 1;
      expect(states, grown);
      survivors_.foresee(grown.empty() ? 0 : left);
      solve(begin, begin + repeat.period, states);
      if (states.empty()) {
        return;
      }
      if (left == 0 || number < first || !are_alike(before, begin, states, begin + repeat.period)) {
        grown.clear();
        continue;
      }
      LayerDecisions layer = layer_between(nodes_, begin, before, states);
      const bool foreseen = layer.grown == grown && grows_evenly(layer);
      const std::int64_t known = foreseen ? layers_in_order(states, survivors_.alike()) : 0;
      const std::int64_t again = stays_apart(layer) ? left : known;
      repeat_last(repeat, static_cast<std::int32_t>(again), layer, states);
      number += static_cast<std::int32_t>(again);
      grown = std::move(layer.grown);
    }
  }

  /// Whether the states before `a` and before `b` are the same but for the time, the live tensors
  /// told by how far back they were made.
  [[nodiscard]] bool are_alike(const std::vector<ShardingState>& at_a, std::int32_t a,
                               const std::vector<ShardingState>& at_b, std::int32_t b) const {
    return std::equal(at_a.begin(), at_a.end(), at_b.begin(), at_b.end(),
                      [&](const ShardingState& one, const ShardingState& other) {
                        return places(one, a) == places(other, b);
                      });
  }

  using StateKey = std::tuple<std::int32_t, std::int32_t, Forms>;

  [[nodiscard]] std::vector<StateKey> places(const ShardingState& state, std::int32_t at) const {
    std::vector<StateKey> result;
    for (const TensorForms& live : state.live) {
      const auto [maker, slot] = makers_[subscript(live.tensor)];
      const bool before = maker < graph_.repeat->begin || uses_.spans[subscript(live.tensor)] != 0;
      result.emplace_back(before ? -maker - 1 : at - maker, slot, live.forms);
    }
    std::sort(result.begin(), result.end());
    return result;
  }

  /// The states after `more` layers like this one: its decisions again.
  void repeat_last(const ir::Repeat& repeat, std::int32_t more, const LayerDecisions& layer,
                   std::vector<ShardingState>& states) {
    std::vector<std::int32_t> ends(states.size());
    std::transform(states.begin(), states.end(), ends.begin(),
                   [](const ShardingState& state) { return state.node; });
    for (std::int32_t copy = 1; copy <= more; ++copy) {
      const std::int32_t shift = copy * repeat.period;
      std::vector<std::int32_t> next;
      next.reserve(states.size());
      for (std::size_t i = 0; i < states.size(); ++i) {
        std::int32_t node = ends[layer.from[i]];
        for (const Decision& made : layer.nodes[i]) {
          node = add(shifted(made, node, shift));
        }
        next.push_back(node);
      }
      ends = std::move(next);
    }
    for (std::size_t i = 0; i < states.size(); ++i) {
      states[i].node = ends[i];
      states[i].time += more * layer.grown[i];
      for (TensorForms& live : states[i].live) {
        live.tensor = later(live.tensor, more * repeat.period);
      }
      std::sort(states[i].live.begin(), states[i].live.end());
    }
  }

  [[nodiscard]] Decision shifted(const Decision& node, std::int32_t before,
                                 std::int32_t shift) const {
    Decision result{
        .before = before, .op = node.op + shift, .split = node.split, .moves = node.moves};
    for (Collective& move : result.moves) {
      move.op += shift;
      move.tensor = later(move.tensor, shift);
    }
    return result;
  }

  /// The tensor that stands `shift` ops later for one made by a layer.
  [[nodiscard]] std::int32_t later(std::int32_t tensor, std::int32_t shift) const {
    const auto [maker, slot] = makers_[subscript(tensor)];
    if (maker < graph_.repeat->begin || uses_.spans[subscript(tensor)] != 0) {
      return tensor;
    }
    return graph_.ops[subscript(maker + shift)].operands[subscript(slot)].tensor;
  }

  std::int32_t add(Decision node) {
    nodes_.push_back(std::move(node));
    return static_cast<std::int32_t>(nodes_.size()) - 1;
  }

  /// All states that the op, split in the given way, makes of one.
  void extend(const ShardingState& state, std::int32_t op, std::int32_t split, Extended& next) {
    const SplitCost& part = ways_.parts(op)[subscript(split)];
    ShardingState after = state;
    after.time +=
        part.time.value + std::llround(wish_.price * static_cast<double>(part.kept.value));
    Decision node{.before = state.node, .op = op, .split = split, .moves = {}};
    read_from(0, after, node, next);
  }

  /// Brings what the operands from `slot` on read into its form, in each way that may pay.
  void read_from(std::size_t slot, ShardingState& state, Decision& node, Extended& next) {
    const ir::Op& op = graph_.ops[subscript(node.op)];
    const Split& split = ways_.parts(node.op)[subscript(node.split)].split;
    for (; slot < op.operands.size(); ++slot) {
      const ir::Operand& operand = op.operands[slot];
      if (operand.access != ir::Access::Read || !is_made(operand)) {
        continue;
      }
      const Forms forms = find(state, operand.tensor).forms;
      if (forms.has(split.forms[slot])) {
        continue;
      }
      const bool again = uses_.last_reader[subscript(operand.tensor)] > node.op;
      if (again && split.forms[slot] != whole() &&
          !forms.has(whole())) {  // The whole may serve others.
        ShardingState other = state;
        Decision moved = node;
        if (move(other, moved, operand.tensor, whole()) &&
            move(other, moved, operand.tensor, split.forms[slot])) {
          read_from(slot + 1, other, moved, next);
        }
      }
      if (!move(state, node, operand.tensor, split.forms[slot])) {
        return;
      }
    }
    finish(state, node, next);
  }

  /// Whether there is a way.
  bool move(ShardingState& state, Decision& node, std::int32_t tensor, Form to) {
    TensorForms& live = find(state, tensor);
    const auto chosen = routes_.find(tensor, live.forms, to);
    if (!chosen) {
      return false;
    }
    state.time += chosen->time;
    live.forms.add(to);
    node.moves.push_back({.op = node.op, .tensor = tensor, .from = chosen->from, .to = to});
    return true;
  }

  /// Adds what the op makes, and drops what nothing reads any more.
  void finish(ShardingState& state, Decision& node, Extended& next) {
    const ir::Op& op = graph_.ops[subscript(node.op)];
    const Split& split = ways_.parts(node.op)[subscript(node.split)].split;
    for (std::size_t slot = 0; slot < op.operands.size(); ++slot) {
      const ir::Operand& operand = op.operands[slot];
      if (operand.access == ir::Access::Write && is_made(operand)) {
        state.live.push_back({.tensor = operand.tensor, .forms = Forms::of(split.forms[slot])});
      }
    }
    std::erase_if(state.live, [&](const TensorForms& live) {
      return uses_.last_reader[subscript(live.tensor)] <= node.op;
    });
    std::sort(state.live.begin(), state.live.end());
    next.states.push_back(std::move(state));
    next.nodes.push_back(std::move(node));
  }

  [[nodiscard]] Sharding result(const ShardingState& state) const {
    std::vector<const SplitCost*> chosen(graph_.ops.size(), nullptr);
    std::vector<Collective> moves;
    for (std::int32_t at = state.node; at >= 0; at = nodes_[subscript(at)].before) {
      const Decision& node = nodes_[subscript(at)];
      chosen[subscript(node.op)] = &ways_.parts(node.op)[subscript(node.split)];
      moves.insert(moves.end(), node.moves.rbegin(), node.moves.rend());
    }
    std::reverse(moves.begin(), moves.end());
    return tally(ways_, chosen, moves);
  }

  const ShardingCosts& ways_;
  const ir::Graph& graph_;
  Wish wish_;
  TensorUses uses_;
  std::vector<Decision> nodes_;
  std::vector<std::pair<std::int32_t, std::int32_t>> makers_;  // op and slot of tensors
  Routes routes_;
  Survivors survivors_;
};

}  // namespace

Sharding replicated(const ShardingCosts& ways) {
  std::vector<const SplitCost*> chosen;
  for (std::size_t op = 0; op < ways.graph().ops.size(); ++op) {
    chosen.push_back(&ways.whole_op(static_cast<std::int32_t>(op)));
  }
  return tally(ways, chosen, {});
}

Sharding cheapest(const ShardingCosts& ways, const Wish& wish) {
  const std::optional<Sharding> found = Sharder(ways, wish).run();
  return found ? *found : replicated(ways);
}

}  // namespace elk::shard
