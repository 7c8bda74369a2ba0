#include "elk/train/shard.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/train/layers.hpp"
#include "elk/train/state.hpp"
#include "elk/train/tally.hpp"
#include "elk/train/uses.hpp"

namespace elk::train {
namespace {

constexpr std::size_t kMostStates = 64;

class Sharder {
 public:
  Sharder(const Ways& ways, const Wish& wish)
      : ways_(ways),
        graph_(ways.graph()),
        wish_(wish),
        uses_(uses(graph_)),
        makers_(graph_.tensors.size()),
        times_(graph_.tensors.size()) {
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
    std::vector<State> states{{.live = {}, .time = 0, .pace = 0, .node = -1}};
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

  /// Ops [from, to), from the states before them to those after.
  void solve(std::int32_t from, std::int32_t to, std::vector<State>& states) {
    for (std::int32_t op = from; op < to; ++op) {
      const std::vector<std::int32_t> splits = splits_of(op);
      std::vector<State> next;
      for (const State& state : states) {
        for (const std::int32_t split : splits) {
          extend(state, op, split, next);
        }
      }
      states = undominated(std::move(next));
    }
  }

  /// The splits of an op that may be of use.
  [[nodiscard]] std::vector<std::int32_t> splits_of(std::int32_t op) const {
    const std::vector<Part>& parts = ways_.parts(op);
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
  void solve_layers(const ir::Repeat& repeat, std::vector<State>& states) {
    const std::int32_t first = first_to_repeat(graph_, uses_);
    std::vector<std::int64_t> grown;
    for (std::int32_t number = 0; number < repeat.count; ++number) {
      const std::vector<State> before = states;
      const std::int32_t begin = repeat.begin + (number * repeat.period);
      const std::int32_t left = repeat.count - number - 1;
      expect(states, grown);
      alike_ = left;
      solve(begin, begin + repeat.period, states);
      if (states.empty()) {
        return;
      }
      if (left == 0 || number < first || !are_alike(before, begin, states, begin + repeat.period)) {
        grown.clear();
        continue;
      }
      Layer layer = layer_between(nodes_, begin, before, states);
      const bool foreseen = layer.grown == grown && grows_evenly(layer);
      const std::int64_t known = foreseen ? alike_ : 0;
      const std::int64_t again = stays_apart(layer) ? left : known;
      repeat_last(repeat, static_cast<std::int32_t>(again), layer, states);
      number += static_cast<std::int32_t>(again);
      grown = std::move(layer.grown);
    }
  }

  /// Whether the states before `a` and before `b` are the same but for the time, the live tensors
  /// told by how far back they were made.
  [[nodiscard]] bool are_alike(const std::vector<State>& at_a, std::int32_t a,
                               const std::vector<State>& at_b, std::int32_t b) const {
    return std::equal(
        at_a.begin(), at_a.end(), at_b.begin(), at_b.end(),
        [&](const State& one, const State& other) { return places(one, a) == places(other, b); });
  }

  using Place = std::tuple<std::int32_t, std::int32_t, Forms>;

  [[nodiscard]] std::vector<Place> places(const State& state, std::int32_t at) const {
    std::vector<Place> result;
    for (const Live& live : state.live) {
      const auto [maker, slot] = makers_[subscript(live.tensor)];
      const bool before = maker < graph_.repeat->begin || uses_.spans[subscript(live.tensor)] != 0;
      result.emplace_back(before ? -maker - 1 : at - maker, slot, live.forms);
    }
    std::sort(result.begin(), result.end());
    return result;
  }

  /// The states after `more` layers like this one: its decisions again.
  void repeat_last(const ir::Repeat& repeat, std::int32_t more, const Layer& layer,
                   std::vector<State>& states) {
    std::vector<std::int32_t> ends(states.size());
    std::transform(states.begin(), states.end(), ends.begin(),
                   [](const State& state) { return state.node; });
    for (std::int32_t copy = 1; copy <= more; ++copy) {
      const std::int32_t shift = copy * repeat.period;
      std::vector<std::int32_t> next;
      next.reserve(states.size());
      for (std::size_t i = 0; i < states.size(); ++i) {
        std::int32_t node = ends[layer.from[i]];
        for (const Node& made : layer.nodes[i]) {
          node = add(shifted(made, node, shift));
        }
        next.push_back(node);
      }
      ends = std::move(next);
    }
    for (std::size_t i = 0; i < states.size(); ++i) {
      states[i].node = ends[i];
      states[i].time += more * layer.grown[i];
      for (Live& live : states[i].live) {
        live.tensor = later(live.tensor, more * repeat.period);
      }
      std::sort(states[i].live.begin(), states[i].live.end());
    }
  }

  [[nodiscard]] Node shifted(const Node& node, std::int32_t before, std::int32_t shift) const {
    Node result{.before = before, .op = node.op + shift, .split = node.split, .moves = node.moves};
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

  std::int32_t add(Node node) {
    nodes_.push_back(std::move(node));
    return static_cast<std::int32_t>(nodes_.size()) - 1;
  }

  /// All states that the op, split in the given way, makes of one.
  void extend(const State& state, std::int32_t op, std::int32_t split, std::vector<State>& next) {
    const Part& part = ways_.parts(op)[subscript(split)];
    State after = state;
    after.time +=
        part.time.value + std::llround(wish_.price * static_cast<double>(part.kept.value));
    Node node{.before = state.node, .op = op, .split = split, .moves = {}};
    read_from(0, after, node, next);
  }

  /// Brings what the operands from `slot` on read into its form, in each way that may pay.
  void read_from(std::size_t slot, State& state, Node& node, std::vector<State>& next) {
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
      if (again && split.forms[slot] != whole() && !forms.has(whole())) {  // It may serve others.
        State other = state;
        Node moved = node;
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

  struct Route {
    Form from;
    std::int64_t time;
  };

  /// The cheapest way to a form from those at hand; empty if chips would have to exchange and must
  /// not.
  std::optional<Route> route(std::int32_t tensor, const Forms& forms, Form to) {
    std::optional<Route> best;
    for (Forms left = forms; !left.empty(); left.drop_first()) {
      const Form from = left.first();
      if (wish_.silent && exchange(from, to) != Exchange::None) {
        continue;
      }
      const std::int64_t time = moving_time(tensor, from, to);
      if (!best || time < best->time) {
        best = Route{.from = from, .time = time};
      }
    }
    return best;
  }

  std::int64_t moving_time(std::int32_t tensor, Form from, Form to) {
    MovingTimes& known = times_[subscript(tensor)];
    if (known.between.empty()) {
      const std::size_t dims = graph_.tensors[subscript(tensor)].shape.size();
      known.places = subscript(Forms::place(cut(static_cast<std::int32_t>(dims))));
      known.between.assign(known.places * known.places, -1);
    }
    const std::size_t first = subscript(Forms::place(from)) * known.places;
    std::int64_t& time = known.between[first + subscript(Forms::place(to))];
    if (time < 0) {
      time = ways_.time(tensor, from, to).value;
    }
    return time;
  }

  /// Whether there is a way.
  bool move(State& state, Node& node, std::int32_t tensor, Form to) {
    Live& live = find(state, tensor);
    const std::optional<Route> chosen = route(tensor, live.forms, to);
    if (!chosen) {
      return false;
    }
    state.time += chosen->time;
    live.forms.add(to);
    node.moves.push_back({.op = node.op, .tensor = tensor, .from = chosen->from, .to = to});
    return true;
  }

  /// Adds what the op makes, and drops what nothing reads any more.
  void finish(State& state, const Node& node, std::vector<State>& next) {
    const ir::Op& op = graph_.ops[subscript(node.op)];
    const Split& split = ways_.parts(node.op)[subscript(node.split)].split;
    for (std::size_t slot = 0; slot < op.operands.size(); ++slot) {
      const ir::Operand& operand = op.operands[slot];
      if (operand.access == ir::Access::Write && is_made(operand)) {
        state.live.push_back({.tensor = operand.tensor, .forms = Forms::of(split.forms[slot])});
      }
    }
    std::erase_if(state.live, [&](const Live& live) {
      return uses_.last_reader[subscript(live.tensor)] <= node.op;
    });
    std::sort(state.live.begin(), state.live.end());
    state.node = add(node);
    next.push_back(std::move(state));
  }

  /// Of states of the same tensors those that no other, brought into their forms, is as good as.
  std::vector<State> undominated(std::vector<State> states) {
    sort_by_time(states);
    const std::int64_t sorted = layers_in_order(states, alike_);
    std::vector<State> kept;
    bool open = false;  // Whether a state is kept that any op can go on from.
    for (State& state : states) {
      const bool opens = !open && is_whole(state);
      if (kept.size() >= kMostStates && !opens) {
        alike_ = std::min(alike_, sorted);
        continue;
      }
      const bool dominated = std::any_of(
          kept.begin(), kept.end(), [&](const State& other) { return is_as_good(other, state); });
      if (!dominated) {
        kept.push_back(std::move(state));
        open = open || opens;
      }
    }
    alike_ = layers_in_order(kept, alike_);
    return kept;
  }

  /// Whether one state, brought into all forms of another, takes no longer.
  bool is_as_good(const State& from, const State& to) {
    const std::int64_t slack = to.time - from.time;
    const std::int64_t pace = to.pace - from.pace;
    const std::int64_t most = slack + (alike_ * std::max<std::int64_t>(0, pace));
    const std::optional<std::int64_t> sum = completing_time(from, to, most);
    if (!sum) {
      return false;
    }
    const bool result = *sum <= slack;
    if (pace != 0) {  // One that ends at the same time comes first by what else it has.
      const std::int64_t bar = result ? std::max<std::int64_t>(1, *sum) : *sum;
      alike_ = result && slack == 0 ? 0 : layers_alike(slack, pace, bar, alike_);
    }
    return result;
  }

  /// What it takes to bring one state into all forms of another, or some of that if it is above
  /// `most`; empty if there is no way.
  std::optional<std::int64_t> completing_time(const State& from, const State& to,
                                              std::int64_t most) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < to.live.size() && sum <= most; ++i) {
      Forms missing = to.live[i].forms.without(from.live[i].forms);
      for (; !missing.empty(); missing.drop_first()) {
        const Form form = missing.first();
        if (form == partial()) {
          continue;
        }
        const std::optional<Route> way = route(to.live[i].tensor, from.live[i].forms, form);
        if (!way) {
          return std::nullopt;
        }
        sum += way->time;
      }
    }
    return sum;
  }

  [[nodiscard]] Sharding result(const State& state) const {
    std::vector<const Part*> chosen(graph_.ops.size(), nullptr);
    std::vector<Collective> moves;
    for (std::int32_t at = state.node; at >= 0; at = nodes_[subscript(at)].before) {
      const Node& node = nodes_[subscript(at)];
      chosen[subscript(node.op)] = &ways_.parts(node.op)[subscript(node.split)];
      moves.insert(moves.end(), node.moves.rbegin(), node.moves.rend());
    }
    std::reverse(moves.begin(), moves.end());
    return tally(ways_, chosen, moves);
  }

  const Ways& ways_;
  const ir::Graph& graph_;
  Wish wish_;
  Uses uses_;
  std::vector<Node> nodes_;
  std::vector<std::pair<std::int32_t, std::int32_t>> makers_;  // op and slot of tensors
  std::vector<MovingTimes> times_;                             // of each tensor
  std::int64_t alike_ = 0;  // How many layers after this decide as it does, so far.
};

}  // namespace

Sharding replicated(const Ways& ways) {
  std::vector<const Part*> chosen;
  for (std::size_t op = 0; op < ways.graph().ops.size(); ++op) {
    chosen.push_back(&ways.whole_op(static_cast<std::int32_t>(op)));
  }
  return tally(ways, chosen, {});
}

Sharding cheapest(const Ways& ways, const Wish& wish) {
  const std::optional<Sharding> found = Sharder(ways, wish).run();
  return found ? *found : replicated(ways);
}

}  // namespace elk::train
