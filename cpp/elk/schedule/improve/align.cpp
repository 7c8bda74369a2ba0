#include "elk/schedule/improve/align.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/order.hpp"
#include "elk/schedule/problem/key.hpp"
#include "elk/schedule/problem/schedule_tuning.hpp"

namespace elk::schedule {
namespace {

/// The dimension of the tensor that `axis` of the layout cuts, or -1.
DimId cut_dim(const partition::Layout& layout, AxisId axis) {
  for (const DimId d : layout.dims.ids()) {
    const auto& axes = layout.dims[d].axes;
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) {
      return d;
    }
  }
  const auto& split = layout.split_axes;
  const bool by_split = std::find(split.begin(), split.end(), axis) != split.end();
  return by_split && layout.split > 1 ? layout.split_dim : DimId::none;
}

/// Whether each factor leaves a part of its axis to every core (design 3.1).
bool every_core_works(const ir::Op& op, const partition::ExecutePlan& plan) {
  const auto axes = op.axes.ids();
  return std::all_of(axes.begin(), axes.end(), [&](AxisId axis) {
    const std::int64_t tile = ceil_div(op.axes[axis].size, plan.factors[axis]);
    return ceil_div(op.axes[axis].size, tile) == plan.factors[axis];
  });
}

/// The axis of `op` that must be cut as `cut` cuts the layout's, or -1 if there is none.
AxisId followed_axis(const ir::Op& op, OperandId slot, const partition::Layout& layout,
                     AxisId cut) {
  const DimId dim = cut_dim(layout, cut);
  return dim == DimId::none ? AxisId::none : cuttable_axis(op, op.operands[slot], dim);
}

/// Cuts `axis` by `factor`, inside all that is cut already; false where no plan can say so: cut
/// before, it must be the innermost, and no mesh has two dimensions for it.
bool cut_inside(AxisId axis, std::int64_t factor, bool in_lines, partition::ExecutePlan& plan) {
  std::int64_t& cut = plan.factors[axis];
  if (cut > 1) {
    cut *= factor;
    return !in_lines && plan.order.back() == axis;
  }
  cut = factor;
  plan.order.push_back(axis);
  return true;
}

/// The grid's dimension along which an axis is cut whose parts are `stride` cores apart.
std::int32_t mesh_dim(std::int64_t stride, const chip::Chip& chip) {
  const chip::Network network = chip::network_of_machine(chip);
  for (std::size_t dim = network.dims(); dim-- > 0;) {
    if (network.stride(dim) == stride && network.length(dim) > 1) {
      return static_cast<std::int32_t>(dim);
    }
  }
  return 0;
}

partition::ExecutePlan uncut_plan(const ir::Op& op) {
  return {.factors = Table<AxisId, std::int64_t>(op.axes.size(), 1),
          .temporal = Table<OperandId, Table<DimId, std::int64_t>>(op.operands.size()),
          .pace = Table<AxisId, std::int64_t>(op.axes.size(), 0),
          .order = {},
          .loops = {},
          .mesh_dims = Table<AxisId, std::int32_t>(op.axes.size(), -1)};
}

}  // namespace

AxisId cuttable_axis(const ir::Op& op, const ir::Operand& operand, DimId dim) {
  const ir::Dim& map = operand.dims[dim];
  const bool plain = map.axes.size() == 1 && map.coef.front() == 1 && map.offset == 0;
  const AxisId axis = plain ? map.axes.front() : AxisId::none;
  return axis == AxisId::none || op.axes[axis].role == ir::AxisRole::Row ? AxisId::none : axis;
}

std::optional<partition::ExecutePlan> follow(const ir::Op& op, OperandId slot,
                                             const partition::Layout& layout,
                                             const chip::Chip& chip) {
  partition::ExecutePlan plan = uncut_plan(op);
  if (layout.spread) {
    return std::nullopt;
  }
  for (const AxisId cut : layout.order) {
    const AxisId axis = followed_axis(op, slot, layout, cut);
    if (axis == AxisId::none) {
      return std::nullopt;
    }
    if (!cut_inside(axis, layout.factors[cut], chip::routed(chip), plan)) {
      return std::nullopt;
    }
    if (chip::routed(chip)) {
      plan.mesh_dims[axis] = mesh_dim(layout.grid_stride[cut], chip);
    }
  }
  return every_core_works(op, plan) ? std::optional(std::move(plan)) : std::nullopt;
}

namespace {

/// A tensor between an op and a neighbour, as operands of both.
struct TensorEdge {
  OpId op;
  OperandId slot;
  OpId other;
  OperandId other_slot;
};

/// A choice and the least seconds it can cost: ties go to the earlier option.
struct Bid {
  double least;
  Choice choice;

  friend auto operator<=>(const Bid&, const Bid&) = default;
};

class Alignment {
 public:
  Alignment(Problem& problem, Table<OpId, Choice>& choices, const Contention& contention,
            Bytes room)
      : problem_(problem), choices_(choices), contention_(contention), room_(room) {
    for (const cost::Front& front : problem.fronts()) {
      stairs_.push_back(staircase(front, contention));
    }
  }

  void run() {
    for (const OpId op : first_ids<OpId>(problem_.op_count())) {
      const Key key = neighbourhood(op);
      const auto found = known_.find(key);
      if (found != known_.end()) {
        choice(op) = found->second;
        continue;
      }
      choice(op) = best(op);
      known_.emplace(key, choice(op));
    }
  }

 private:
  Choice& choice(OpId op) { return choices_[op]; }

  [[nodiscard]] std::int32_t kind(OpId op) const { return problem_.front_of()[op]; }

  void describe(OpId op, Key& key) {
    key.insert(key.end(), {kind(op), choice(op).option, choice(op).state});
  }

  /// The op, what feeds it, its readers and what else feeds them.
  Key neighbourhood(OpId op) {
    Key key;
    describe(op, key);
    describe_feeders(op, key);
    for (const OpId reader : problem_.readers(op)) {
      key.push_back(-2);
      describe(reader, key);
      describe_feeders(reader, key);
    }
    return key;
  }

  void describe_feeders(OpId op, Key& key) {
    for (const ir::Operand& operand : problem_.graph().ops[op].operands) {
      const OpId maker = problem_.lives().producer[operand.tensor];
      if (operand.access == ir::Access::Read && maker != OpId::none) {
        describe(maker, key);
      } else {
        key.push_back(-1);
      }
    }
  }

  /// A candidate is worked out in full only where it could still be the cheapest: what it costs
  /// with all that it and its readers gather in place already is no more than that.
  Choice best(OpId op) {
    const Choice now = choice(op);
    const Bytes limit = std::max(problem_.option(op, now).footprint.space,
                                 Bytes{room_.value / tuning::kSmallShare});
    const Bytes waits = problem_.state(op, now).space;  // Without HBM it counts all the time.
    const Bytes waiting =
        problem_.chip().hbm ? std::max(waits, Bytes{room_.value / tuning::kSmallShare}) : waits;
    Bid best{.least = cost(op, now), .choice = {.option = -1, .state = -1}};
    std::vector<Bid> bids;
    for (const std::int32_t option : candidates(op)) {
      const cost::PlanOption& plan = problem_.front(op).options[static_cast<std::size_t>(option)];
      const std::optional<Choice> candidate = settle(plan, option, waiting);
      if (candidate && plan.footprint.space <= limit && *candidate != now) {
        bids.push_back({.least = own_cost(op, *candidate, {}), .choice = *candidate});
      }
    }
    std::sort(bids.begin(), bids.end());
    for (const Bid& bid : bids) {
      if (bid < best) {
        best = std::min(best, {.least = cost(op, bid.choice), .choice = bid.choice});
      }
    }
    return best.choice.option < 0 ? now : best.choice;
  }

  /// The cheapest preload state of a plan that takes at most `waiting` bytes.
  [[nodiscard]] std::optional<Choice> settle(const cost::PlanOption& plan, std::int32_t option,
                                             Bytes waiting) const {
    std::optional<Choice> result;
    double least = 0.0;
    for (std::size_t k = 0; k < plan.states.size(); ++k) {
      const double seconds = state_cost(plan, k, contention_);
      if (plan.states[k].space <= waiting && (!result || seconds < least)) {
        result = Choice{.option = option, .state = static_cast<std::int32_t>(k)};
        least = seconds;
      }
    }
    return result;
  }

  /// Seconds of the op between its neighbours, and of what its readers then gather.
  double cost(OpId op, const Choice& candidate) {
    const Choice now = std::exchange(choice(op), candidate);
    double seconds = own_cost(op, candidate, problem_.in_place(op, choices_).gather);
    for (const OpId reader : problem_.readers(op)) {
      const cost::ExchangeCost gather = problem_.in_place(reader, choices_).gather;
      seconds += contention_.seconds(
          {.in = moving(gather), .compute = {0.0}, .out = moving(cost::kNoExchange)});
    }
    choice(op) = now;
    return seconds;
  }

  /// Seconds of the op that first gathers as `gather` says.
  double own_cost(OpId op, const Choice& candidate, const cost::ExchangeCost& gather) {
    const cost::PlanOption& plan = problem_.option(op, candidate);
    const cost::PreloadState& state = plan.states[static_cast<std::size_t>(candidate.state)];
    return contention_.seconds(work(plan, state, gather)) + (contention_.late * state.time.value);
  }

  std::vector<std::int32_t> candidates(OpId op) {
    std::vector<std::int32_t> result;
    const Staircase& stairs = stairs_[static_cast<std::size_t>(kind(op))];
    for (std::size_t k = 0; k < std::min(tuning::kNearest, stairs.size()); ++k) {
      result.push_back(stairs[k].choice.option);
    }
    const ir::Op& node = problem_.graph().ops[op];
    for (const OperandId slot : node.operands.ids()) {
      if (node.operands[slot].access == ir::Access::Read) {
        follow_maker(op, slot, result);
      } else {
        follow_readers(op, slot, result);
      }
    }
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }

  void follow_maker(OpId op, OperandId slot, std::vector<std::int32_t>& result) {
    const TensorId tensor = operand(op, slot).tensor;
    const OpId maker = problem_.lives().producer[tensor];
    if (maker == OpId::none) {
      return;
    }
    const OperandId made = problem_.write_slot(tensor);
    try_follow({.op = op, .slot = slot, .other = maker, .other_slot = made}, result);
  }

  void follow_readers(OpId op, OperandId slot, std::vector<std::int32_t>& result) {
    const TensorId tensor = operand(op, slot).tensor;
    for (const OpId reader : problem_.readers(op)) {
      const ir::Op& node = problem_.graph().ops[reader];
      for (const OperandId k : node.operands.ids()) {
        if (node.operands[k].tensor == tensor) {
          try_follow({.op = op, .slot = slot, .other = reader, .other_slot = k}, result);
        }
      }
    }
  }

  [[nodiscard]] const ir::Operand& operand(OpId op, OperandId slot) const {
    return problem_.graph().ops[op].operands[slot];
  }

  /// Adds the plan of an op that holds a tensor as its neighbour has it, if there is one.
  void try_follow(const TensorEdge& edge, std::vector<std::int32_t>& result) {
    const std::int32_t neighbour = choice(edge.other).option;
    const Key key{kind(edge.op), static_cast<std::int32_t>(edge.slot.value), kind(edge.other),
                  static_cast<std::int32_t>(edge.other_slot.value), neighbour};
    auto found = followed_.find(key);
    if (found == followed_.end()) {
      found = followed_.emplace(key, followed(edge)).first;
    }
    if (found->second >= 0) {
      result.push_back(found->second);
    }
  }

  /// The option that follows a neighbour's layout, or -1.
  std::int32_t followed(const TensorEdge& edge) {
    const ir::Graph& graph = problem_.graph();
    const ir::Op& other = graph.ops[edge.other];
    const partition::Layout layout =
        partition::layout(graph, other, edge.other_slot,
                          problem_.option(edge.other, choice(edge.other)).plan, problem_.chip());
    const std::optional<partition::ExecutePlan> plan =
        follow(graph.ops[edge.op], edge.slot, layout, problem_.chip());
    return plan ? problem_.add(edge.op, *plan).value_or(-1) : -1;
  }

  Problem& problem_;
  Table<OpId, Choice>& choices_;
  const Contention& contention_;
  Bytes room_;
  std::vector<Staircase> stairs_;
  std::unordered_map<Key, Choice, KeyHash> known_;           // by neighbourhood
  std::unordered_map<Key, std::int32_t, KeyHash> followed_;  // options, by edge
};

}  // namespace

void align(Problem& problem, Table<OpId, Choice>& choices, const Contention& contention,
           Bytes room) {
  Alignment(problem, choices, contention, room).run();
}

}  // namespace elk::schedule
