#include "elk/schedule/improve/align.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "elk/base/rounding.hpp"
#include "elk/partition/order.hpp"
#include "elk/schedule/problem/key.hpp"

namespace elk::schedule {
namespace {

constexpr std::int64_t kSmallShare = 32;  // plans below room / 32 may grow up to it
constexpr std::size_t kNearest = 4;       // plans of the front that are tried

/// The dimension of the tensor that `axis` of the layout cuts, or -1.
std::int32_t cut_dim(const partition::Layout& layout, std::int32_t axis) {
  for (std::size_t d = 0; d < layout.dims.size(); ++d) {
    const auto& axes = layout.dims[d].axes;
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) {
      return static_cast<std::int32_t>(d);
    }
  }
  const auto& split = layout.split_axes;
  const bool by_split = std::find(split.begin(), split.end(), axis) != split.end();
  return by_split && layout.split > 1 ? static_cast<std::int32_t>(layout.split_dim) : -1;
}

/// Whether each factor leaves a part of its axis to every core (design 3.1).
bool every_core_works(const ir::Op& op, const partition::ExecutePlan& plan) {
  for (std::size_t a = 0; a < op.axes.size(); ++a) {
    const std::int64_t tile = ceil_div(op.axes[a].size, plan.factors[a]);
    if (ceil_div(op.axes[a].size, tile) != plan.factors[a]) {
      return false;
    }
  }
  return true;
}

/// The axis of `op` that must be cut as `cut` cuts the layout's, or -1 if there is none.
std::int32_t followed_axis(const ir::Op& op, std::size_t slot, const partition::Layout& layout,
                           std::int32_t cut) {
  const std::int32_t dim = cut_dim(layout, cut);
  return dim < 0 ? -1 : cuttable_axis(op, op.operands[slot], static_cast<std::size_t>(dim));
}

/// Cuts `axis` by `factor`, inside all that is cut already; false where no plan can say so: cut
/// before, it must be the innermost, and no mesh has two dimensions for it.
bool cut_inside(std::int32_t axis, std::int64_t factor, bool in_lines,
                partition::ExecutePlan& plan) {
  std::int64_t& cut = plan.factors[static_cast<std::size_t>(axis)];
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
  return {.factors = std::vector<std::int64_t>(op.axes.size(), 1),
          .temporal = std::vector<std::vector<std::int64_t>>(op.operands.size()),
          .pace = std::vector<std::int64_t>(op.axes.size(), 0),
          .order = {},
          .loops = {},
          .mesh_dims = std::vector<std::int32_t>(op.axes.size(), -1)};
}

/// Deals what `factor` cores need together out to them: cuts the outermost dimension of the operand
/// that has indices left, so that what each holds is long runs. `later`: axes that are still to be
/// cut. False if there is none.
bool deal_out(const ir::Op& op, std::size_t slot, std::int64_t factor,
              const std::vector<std::int32_t>& later, partition::ExecutePlan& plan) {
  for (std::size_t dim = 0; dim < op.operands[slot].dims.size(); ++dim) {
    const std::int32_t axis = cuttable_axis(op, op.operands[slot], dim);
    if (axis < 0 || std::find(later.begin(), later.end(), axis) != later.end()) {
      continue;
    }
    const auto at = static_cast<std::size_t>(axis);
    const std::int64_t tile = ceil_div(op.axes[at].size, plan.factors[at]);
    const std::int64_t most = std::min(factor, tile);
    const bool open = plan.factors[at] == 1 || plan.order.back() == axis;
    if (open && most > 1 && ceil_div(tile, ceil_div(tile, most)) == most) {
      return cut_inside(axis, most, false, plan);
    }
  }
  return false;
}

}  // namespace

std::int32_t cuttable_axis(const ir::Op& op, const ir::Operand& operand, std::size_t dim) {
  const ir::Dim& map = operand.dims[dim];
  const bool plain = map.axes.size() == 1 && map.coef.front() == 1 && map.offset == 0;
  const std::int32_t axis = plain ? map.axes.front() : -1;
  return axis < 0 || op.axes[static_cast<std::size_t>(axis)].role == ir::AxisRole::Row ? -1 : axis;
}

std::optional<partition::ExecutePlan> feed(const ir::Op& op, std::size_t slot,
                                           const partition::Layout& layout) {
  std::vector<std::int32_t> axes;  // for each cut of the layout, -1: its parts need the same
  for (const std::int32_t cut : layout.order) {
    const bool shared = cut_dim(layout, cut) < 0;
    axes.push_back(shared ? -1 : followed_axis(op, slot, layout, cut));
    if (!shared && axes.back() < 0) {
      return std::nullopt;
    }
  }
  partition::ExecutePlan plan = uncut_plan(op);
  std::int64_t left = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t factor = layout.factors[static_cast<std::size_t>(layout.order[i])];
    if (axes[i] < 0) {
      const auto after = axes.begin() + static_cast<std::ptrdiff_t>(i);
      const std::vector<std::int32_t> later(after, axes.end());
      left *= deal_out(op, slot, factor, later, plan) ? 1 : factor;
    } else if (!cut_inside(axes[i], factor, false, plan)) {
      return std::nullopt;
    }
  }
  deal_out(op, slot, left, {}, plan);
  return every_core_works(op, plan) ? std::optional(std::move(plan)) : std::nullopt;
}

std::optional<partition::ExecutePlan> follow(const ir::Op& op, std::size_t slot,
                                             const partition::Layout& layout,
                                             const chip::Chip& chip) {
  partition::ExecutePlan plan = uncut_plan(op);
  if (layout.spread) {
    return std::nullopt;
  }
  for (const std::int32_t cut : layout.order) {
    const std::int32_t axis = followed_axis(op, slot, layout, cut);
    if (axis < 0) {
      return std::nullopt;
    }
    const auto at = static_cast<std::size_t>(cut);
    if (!cut_inside(axis, layout.factors[at], chip::routed(chip), plan)) {
      return std::nullopt;
    }
    if (chip::routed(chip)) {
      plan.mesh_dims[static_cast<std::size_t>(axis)] = mesh_dim(layout.grid_stride[at], chip);
    }
  }
  return every_core_works(op, plan) ? std::optional(std::move(plan)) : std::nullopt;
}

namespace {

/// A tensor between an op and a neighbour, as operands of both.
struct TensorEdge {
  std::int32_t op;
  std::size_t slot;
  std::int32_t other;
  std::size_t other_slot;
};

/// A choice and the least seconds it can cost: ties go to the earlier option.
struct Bid {
  double least;
  Choice choice;

  friend auto operator<=>(const Bid&, const Bid&) = default;
};

class Alignment {
 public:
  Alignment(Problem& problem, std::vector<Choice>& choices, const Contention& contention,
            Bytes room)
      : problem_(problem), choices_(choices), contention_(contention), room_(room) {
    for (const cost::Front& front : problem.fronts()) {
      stairs_.push_back(staircase(front, contention));
    }
  }

  void run() {
    for (std::int32_t op = 0; op < problem_.op_count(); ++op) {
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
  Choice& choice(std::int32_t op) { return choices_[static_cast<std::size_t>(op)]; }

  [[nodiscard]] std::int32_t kind(std::int32_t op) const {
    return problem_.front_of()[static_cast<std::size_t>(op)];
  }

  void describe(std::int32_t op, Key& key) {
    key.insert(key.end(), {kind(op), choice(op).option, choice(op).state});
  }

  /// The op, what feeds it, its readers and what else feeds them.
  Key neighbourhood(std::int32_t op) {
    Key key;
    describe(op, key);
    describe_feeders(op, key);
    for (const std::int32_t reader : problem_.readers(op)) {
      key.push_back(-2);
      describe(reader, key);
      describe_feeders(reader, key);
    }
    return key;
  }

  void describe_feeders(std::int32_t op, Key& key) {
    for (const ir::Operand& operand : problem_.graph().ops[static_cast<std::size_t>(op)].operands) {
      const std::int32_t maker =
          problem_.lives().producer[static_cast<std::size_t>(operand.tensor)];
      if (operand.access == ir::Access::Read && maker >= 0) {
        describe(maker, key);
      } else {
        key.push_back(-1);
      }
    }
  }

  /// A candidate is worked out in full only where it could still be the cheapest: what it costs
  /// with all that it and its readers gather in place already is no more than that.
  Choice best(std::int32_t op) {
    const Choice now = choice(op);
    const Bytes limit =
        std::max(problem_.option(op, now).footprint.space, Bytes{room_.value / kSmallShare});
    const Bytes waiting = std::max(problem_.state(op, now).space, Bytes{room_.value / kSmallShare});
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
  double cost(std::int32_t op, const Choice& candidate) {
    const Choice now = std::exchange(choice(op), candidate);
    double seconds = own_cost(op, candidate, problem_.in_place(op, choices_).gather);
    for (const std::int32_t reader : problem_.readers(op)) {
      const cost::ExchangeCost gather = problem_.in_place(reader, choices_).gather;
      seconds += contention_.seconds(
          {.in = moving(gather), .compute = {0.0}, .out = moving(cost::kNoExchange)});
    }
    choice(op) = now;
    return seconds;
  }

  /// Seconds of the op that first gathers as `gather` says.
  double own_cost(std::int32_t op, const Choice& candidate, const cost::ExchangeCost& gather) {
    const cost::PlanOption& plan = problem_.option(op, candidate);
    const cost::PreloadState& state = plan.states[static_cast<std::size_t>(candidate.state)];
    return contention_.seconds(work(plan, state, gather)) + (contention_.late * state.time.value);
  }

  std::vector<std::int32_t> candidates(std::int32_t op) {
    std::vector<std::int32_t> result;
    const Staircase& stairs = stairs_[static_cast<std::size_t>(kind(op))];
    for (std::size_t k = 0; k < std::min(kNearest, stairs.size()); ++k) {
      result.push_back(stairs[k].choice.option);
    }
    const ir::Op& node = problem_.graph().ops[static_cast<std::size_t>(op)];
    for (std::size_t slot = 0; slot < node.operands.size(); ++slot) {
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

  void follow_maker(std::int32_t op, std::size_t slot, std::vector<std::int32_t>& result) {
    const std::int32_t tensor = operand(op, slot).tensor;
    const std::int32_t maker = problem_.lives().producer[static_cast<std::size_t>(tensor)];
    if (maker < 0) {
      return;
    }
    const std::size_t made = problem_.write_slot(tensor);
    try_follow({.op = op, .slot = slot, .other = maker, .other_slot = made}, result);
  }

  void follow_readers(std::int32_t op, std::size_t slot, std::vector<std::int32_t>& result) {
    const std::int32_t tensor = operand(op, slot).tensor;
    for (const std::int32_t reader : problem_.readers(op)) {
      const ir::Op& node = problem_.graph().ops[static_cast<std::size_t>(reader)];
      for (std::size_t k = 0; k < node.operands.size(); ++k) {
        if (node.operands[k].tensor == tensor) {
          try_follow({.op = op, .slot = slot, .other = reader, .other_slot = k}, result);
        }
      }
    }
  }

  [[nodiscard]] const ir::Operand& operand(std::int32_t op, std::size_t slot) const {
    return problem_.graph().ops[static_cast<std::size_t>(op)].operands[slot];
  }

  /// Adds the plan of an op that holds a tensor as its neighbour has it, if there is one.
  void try_follow(const TensorEdge& edge, std::vector<std::int32_t>& result) {
    const std::int32_t neighbour = choice(edge.other).option;
    const Key key{kind(edge.op), static_cast<std::int32_t>(edge.slot), kind(edge.other),
                  static_cast<std::int32_t>(edge.other_slot), neighbour};
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
    const ir::Op& other = graph.ops[static_cast<std::size_t>(edge.other)];
    const partition::Layout layout =
        partition::layout(graph, other, edge.other_slot,
                          problem_.option(edge.other, choice(edge.other)).plan, problem_.chip());
    const std::optional<partition::ExecutePlan> plan =
        follow(graph.ops[static_cast<std::size_t>(edge.op)], edge.slot, layout, problem_.chip());
    return plan ? problem_.add(edge.op, *plan) : -1;
  }

  Problem& problem_;
  std::vector<Choice>& choices_;
  const Contention& contention_;
  Bytes room_;
  std::vector<Staircase> stairs_;
  std::unordered_map<Key, Choice, KeyHash> known_;           // by neighbourhood
  std::unordered_map<Key, std::int32_t, KeyHash> followed_;  // options, by edge
};

}  // namespace

void align(Problem& problem, std::vector<Choice>& choices, const Contention& contention,
           Bytes room) {
  Alignment(problem, choices, contention, room).run();
}

}  // namespace elk::schedule
