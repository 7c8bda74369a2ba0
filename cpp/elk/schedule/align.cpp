#include "elk/schedule/align.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "elk/base/rounding.hpp"
#include "elk/partition/order.hpp"
#include "elk/schedule/key.hpp"

namespace elk::schedule {
namespace {

constexpr std::int64_t kSmallShare = 32;  // plans below room / 32 may grow up to it
constexpr std::size_t kNearest = 4;       // plans of the front that are tried

/// The one axis of `op` that indexes dimension `dim` of an operand as it is, or -1.
std::int32_t plain_axis(const ir::Operand& operand, std::size_t dim) {
  const ir::Dim& map = operand.dims[dim];
  const bool plain = map.axes.size() == 1 && map.coef.front() == 1 && map.offset == 0;
  return plain ? map.axes.front() : -1;
}

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
  const std::int32_t axis =
      dim < 0 ? -1 : plain_axis(op.operands[slot], static_cast<std::size_t>(dim));
  const bool whole = axis < 0 || op.axes[static_cast<std::size_t>(axis)].role == ir::AxisRole::Row;
  return whole ? -1 : axis;
}

/// Cuts `axis` by `factor`, inside all that is cut already; false where no plan can say so: cut
/// before, it must be the innermost, and no mesh has two dimensions for it.
bool cut_inside(std::int32_t axis, std::int64_t factor, bool is_mesh,
                partition::ExecutePlan& plan) {
  std::int64_t& cut = plan.factors[static_cast<std::size_t>(axis)];
  if (cut > 1) {
    cut *= factor;
    return !is_mesh && plan.order.back() == axis;
  }
  cut = factor;
  plan.order.push_back(axis);
  return true;
}

/// The grid's dimension along which an axis is cut whose parts are `stride` cores apart.
std::int32_t mesh_dim(std::int64_t stride, const chip::Chip& chip) {
  return stride == 1 && partition::grid_of(chip).cols > 1 ? 1 : 0;
}

}  // namespace

std::optional<partition::ExecutePlan> follow(const ir::Op& op, std::size_t slot,
                                             const partition::Layout& layout,
                                             const chip::Chip& chip) {
  partition::ExecutePlan plan{
      .factors = std::vector<std::int64_t>(op.axes.size(), 1),
      .temporal = std::vector<std::vector<std::int64_t>>(op.operands.size()),
      .pace = std::vector<std::int64_t>(op.axes.size(), 0),
      .order = {},
      .loops = {},
      .mesh_dims = std::vector<std::int32_t>(op.axes.size(), -1)};
  if (layout.spread) {
    return std::nullopt;
  }
  for (const std::int32_t cut : layout.order) {
    const std::int32_t axis = followed_axis(op, slot, layout, cut);
    if (axis < 0) {
      return std::nullopt;
    }
    const auto at = static_cast<std::size_t>(cut);
    if (!cut_inside(axis, layout.factors[at], chip::is_mesh(chip), plan)) {
      return std::nullopt;
    }
    if (chip::is_mesh(chip)) {
      plan.mesh_dims[static_cast<std::size_t>(axis)] = mesh_dim(layout.grid_stride[at], chip);
    }
  }
  return every_core_works(op, plan) ? std::optional(std::move(plan)) : std::nullopt;
}

namespace {

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

  Choice best(std::int32_t op) {
    const Choice now = choice(op);
    const Bytes limit =
        std::max(problem_.option(op, now).footprint.space, Bytes{room_.value / kSmallShare});
    const Bytes waiting = std::max(problem_.state(op, now).space, Bytes{room_.value / kSmallShare});
    Choice best = now;
    double least = cost(op, now);
    for (const std::int32_t option : candidates(op)) {
      const cost::PlanOption& plan = problem_.front(op).options[static_cast<std::size_t>(option)];
      const std::optional<Choice> candidate = settle(plan, option, waiting);
      if (!candidate || plan.footprint.space > limit || *candidate == now) {
        continue;
      }
      const double seconds = cost(op, *candidate);
      if (seconds < least) {
        least = seconds;
        best = *candidate;
      }
    }
    return best;
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
    const cost::PlanOption& plan = problem_.option(op, candidate);
    const auto state = static_cast<std::size_t>(candidate.state);
    double seconds =
        contention_.seconds(work(plan, plan.states[state], problem_.in_place(op, choices_).gather));
    seconds += contention_.late * (plan.states[state].time.value - least_load(op));
    for (const std::int32_t reader : problem_.readers(op)) {
      const cost::Exchange gather = problem_.in_place(reader, choices_).gather;
      seconds += contention_.seconds({.fixed_in = gather.time - gather.wire,
                                      .wire_in = gather.wire,
                                      .compute = {0.0},
                                      .fixed_out = {0.0},
                                      .wire_out = {0.0}});
    }
    choice(op) = now;
    return seconds;
  }

  [[nodiscard]] double least_load(std::int32_t op) const {
    double least = problem_.front(op).options.front().states.front().hbm_time.value;
    for (const cost::PlanOption& option : problem_.front(op).options) {
      least = std::min(least, option.states.front().hbm_time.value);
    }
    return least;
  }

  std::vector<std::int32_t> candidates(std::int32_t op) {
    std::vector<std::int32_t> result;
    const Staircase& stairs = stairs_[static_cast<std::size_t>(kind(op))];
    for (std::size_t k = 0; k < std::min(kNearest, stairs.size()); ++k) {
      result.push_back(stairs[k].choice.option);
    }
    const ir::Op& node = problem_.graph().ops[static_cast<std::size_t>(op)];
    for (std::size_t slot = 0; slot < node.operands.size(); ++slot) {
      const ir::Operand& operand = node.operands[slot];
      if (operand.access == ir::Access::Read) {
        try_follow(op, slot, problem_.resting(operand.tensor, choices_), result);
      } else {
        follow_readers(op, slot, result);
      }
    }
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }

  void follow_readers(std::int32_t op, std::size_t slot, std::vector<std::int32_t>& result) {
    const auto& graph = problem_.graph();
    const std::int32_t tensor = graph.ops[static_cast<std::size_t>(op)].operands[slot].tensor;
    for (const std::int32_t reader : problem_.readers(op)) {
      const ir::Op& node = graph.ops[static_cast<std::size_t>(reader)];
      for (std::size_t k = 0; k < node.operands.size(); ++k) {
        if (node.operands[k].tensor == tensor) {
          const partition::Layout need = partition::layout(
              graph, node, k, problem_.option(reader, choice(reader)).plan, problem_.chip());
          try_follow(op, slot, &need, result);
        }
      }
    }
  }

  void try_follow(std::int32_t op, std::size_t slot, const partition::Layout* layout,
                  std::vector<std::int32_t>& result) {
    const ir::Op& node = problem_.graph().ops[static_cast<std::size_t>(op)];
    if (layout == nullptr) {
      return;
    }
    std::optional<partition::ExecutePlan> plan = follow(node, slot, *layout, problem_.chip());
    if (!plan) {
      return;
    }
    result.push_back(problem_.add(op, *plan));
  }

  Problem& problem_;
  std::vector<Choice>& choices_;
  const Contention& contention_;
  Bytes room_;
  std::vector<Staircase> stairs_;
  std::unordered_map<Key, Choice, KeyHash> known_;
};

}  // namespace

void align(Problem& problem, std::vector<Choice>& choices, const Contention& contention,
           Bytes room) {
  Alignment(problem, choices, contention, room).run();
}

}  // namespace elk::schedule
