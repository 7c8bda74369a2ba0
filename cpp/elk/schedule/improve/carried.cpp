#include "elk/schedule/improve/carried.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/order.hpp"
#include "elk/partition/plan.hpp"
#include "elk/schedule/improve/align.hpp"

namespace elk::schedule {
namespace {

constexpr std::size_t kMostCuts = 32;  // carried at most

/// The cuttable axes of the first two dimensions of several indices of the result of `op`.
std::vector<std::int32_t> outer_axes(const ir::Op& op) {
  std::vector<std::int32_t> result;
  for (const ir::Operand& operand : op.operands) {
    for (std::size_t dim = 0; dim < operand.dims.size() && result.size() < 2; ++dim) {
      const std::int32_t axis =
          operand.access == ir::Access::Write ? cuttable_axis(op, operand, dim) : -1;
      const bool known = std::find(result.begin(), result.end(), axis) != result.end();
      if (axis >= 0 && !known && op.axes[subscript(axis)].size > 1) {
        result.push_back(axis);
      }
    }
  }
  return result;
}

/// Into how many parts at most `limit` cores can cut an axis: as many as there can be, and, over
/// half as many, those that leave all cores the same.
std::set<std::int64_t> most_parts(std::int64_t size, std::int64_t limit) {
  const std::int64_t most = partition::distinct_factors(size, limit).back();
  std::set<std::int64_t> result = {most};
  for (const std::int64_t even : partition::divisors(size)) {
    if (even <= limit && even > most / 2) {
      result.insert(even);
    }
  }
  return result;
}

/// Plans that cut the result of an op in its outermost dimension, or in the two outermost, in each
/// way that these can lie on a grid.
class OuterCuts {
 public:
  OuterCuts(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip)
      : graph_(graph), op_(op), chip_(chip), axes_(outer_axes(op)) {}

  std::vector<partition::ExecutePlan> all() && {
    if (axes_.empty()) {
      return {};
    }
    const chip::Network network = chip::network_of_machine(chip_);
    if (!network.routed()) {
      add(network.nodes(), network.nodes(), {-1, -1});
    }
    for (std::size_t first = 0; first < network.dims(); ++first) {
      for (std::size_t second = 0; second < network.dims(); ++second) {
        if (first != second) {
          add(network.length(first), network.length(second),
              {static_cast<std::int32_t>(first), static_cast<std::int32_t>(second)});
        }
      }
    }
    return std::move(plans_);
  }

 private:
  using CutFactors = std::vector<std::int64_t>;
  /// The dimensions along which the two axes lie, -1: there are none.
  using GridSides = std::array<std::int32_t, 2>;

  void add(std::int64_t most_first, std::int64_t most_second, const GridSides& sides) {
    const auto size = [&](std::size_t i) { return op_.axes[subscript(axes_[i])].size; };
    for (const std::int64_t first : most_parts(size(0), most_first)) {
      CutFactors cut(op_.axes.size(), 1);
      cut[subscript(axes_[0])] = first;
      add(cut, sides);
      const std::int64_t left = sides[0] < 0 ? most_second / first : most_second;
      for (const std::int64_t second :
           axes_.size() < 2 ? std::set<std::int64_t>{} : most_parts(size(1), left)) {
        cut[subscript(axes_[1])] = second;
        add(cut, sides);
      }
    }
  }

  void add(const CutFactors& cut, const GridSides& sides) {
    auto plan = partition::complete_plan(graph_, op_, cut,
                                         std::vector<CutFactors>(op_.operands.size()), chip_);
    if (!plan) {
      return;
    }
    if (sides[0] >= 0) {
      for (std::size_t i = 0; i < axes_.size(); ++i) {
        plan->mesh_dims[subscript(axes_[i])] = cut[subscript(axes_[i])] > 1 ? sides[i] : -1;
      }
      std::sort(plan->order.begin(), plan->order.end(), [&](std::int32_t a, std::int32_t b) {
        return plan->mesh_dims[subscript(a)] < plan->mesh_dims[subscript(b)];
      });
    }
    if (std::find(plans_.begin(), plans_.end(), *plan) == plans_.end()) {
      plans_.push_back(std::move(*plan));
    }
  }

  const ir::Graph& graph_;
  const ir::Op& op_;
  const chip::Chip& chip_;
  std::vector<std::int32_t> axes_;
  std::vector<partition::ExecutePlan> plans_;
};

class Carry {
 public:
  Carry(Problem& problem, const std::vector<Choice>& base) : problem_(problem), base_(base) {}

  /// The choices that follow from `seed` of all ops like `op`.
  std::vector<Choice> from(std::int32_t op, const Choice& seed) {
    choices_ = base_;
    moved_.assign(choices_.size(), false);
    for (std::int32_t like = op; like < problem_.op_count(); ++like) {
      if (problem_.front_of()[subscript(like)] == problem_.front_of()[subscript(op)]) {
        take(like, seed);
      }
    }
    for (int way = 0; way < 2; ++way) {
      for (std::int32_t next = 0; next < problem_.op_count(); ++next) {
        follow_makers(next);
      }
      for (std::int32_t next = problem_.op_count(); next-- > 0;) {
        follow_readers(next);
      }
    }
    return choices_;
  }

 private:
  void take(std::int32_t op, const Choice& choice) {
    choices_[subscript(op)] = choice;
    moved_[subscript(op)] = true;
  }

  [[nodiscard]] const ir::Op& node(std::int32_t op) const {
    return problem_.graph().ops[subscript(op)];
  }

  void follow_makers(std::int32_t op) {
    const std::vector<ir::Operand>& operands = node(op).operands;
    for (std::size_t slot = 0; slot < operands.size() && !moved_[subscript(op)]; ++slot) {
      const std::int32_t tensor = operands[slot].tensor;
      const std::int32_t maker = problem_.lives().producer[subscript(tensor)];
      if (operands[slot].access == ir::Access::Read && maker >= 0 && moved_[subscript(maker)]) {
        hold(op, slot, maker, problem_.write_slot(tensor));
      }
    }
  }

  void follow_readers(std::int32_t op) {
    for (const std::int32_t reader : problem_.readers(op)) {
      const std::vector<ir::Operand>& operands = node(reader).operands;
      for (std::size_t slot = 0; slot < operands.size() && !moved_[subscript(op)]; ++slot) {
        const std::int32_t tensor = operands[slot].tensor;
        if (operands[slot].access == ir::Access::Read && moved_[subscript(reader)] &&
            problem_.lives().producer[subscript(tensor)] == op) {
          hold(op, problem_.write_slot(tensor), reader, slot);
        }
      }
    }
  }

  /// Has `op` hold a tensor by operand `slot` as `other` has it by `other_slot`, if it can.
  void hold(std::int32_t op, std::size_t slot, std::int32_t other, std::size_t other_slot) {
    const std::vector<std::int32_t>& front = problem_.front_of();
    const std::int32_t held = choices_[subscript(other)].option;
    const auto [found, added] = known_.try_emplace(
        std::tuple(front[subscript(op)], slot, front[subscript(other)], other_slot, held));
    if (added) {
      const partition::Layout layout = partition::layout(
          problem_.graph(), node(other), other_slot,
          problem_.option(other, choices_[subscript(other)]).plan, problem_.chip());
      if (const auto plan = follow(node(op), slot, layout, problem_.chip())) {
        found->second = Choice{.option = problem_.add(op, *plan), .state = 0};
      }
    }
    if (found->second) {
      take(op, *found->second);
    }
  }

  Problem& problem_;
  const std::vector<Choice>& base_;
  std::vector<Choice> choices_;
  std::vector<bool> moved_;
  std::map<std::tuple<std::int32_t, std::size_t, std::int32_t, std::size_t, std::int32_t>,
           std::optional<Choice>>
      known_;
};

/// Seconds of the executes, whatever they gather.
Seconds alone(const Problem& problem, const std::vector<Choice>& choices) {
  Seconds sum{0.0};
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    const cost::PlanOption& option = problem.option(op, choices[subscript(op)]);
    sum += option.compute + option.shift.time + option.reduce.time;
  }
  return sum;
}

}  // namespace

std::vector<std::vector<Choice>> carried(Problem& problem, const std::vector<Choice>& base,
                                         Seconds most) {
  Carry carry(problem, base);
  std::set<std::vector<std::vector<std::int64_t>>> known;  // sizes, and their cuts
  std::vector<std::vector<Choice>> result;
  for (std::int32_t op = 0; op < problem.op_count() && known.size() < kMostCuts; ++op) {
    const ir::Op& node = problem.graph().ops[subscript(op)];
    for (const partition::ExecutePlan& plan :
         OuterCuts(problem.graph(), node, problem.chip()).all()) {
      if (!known
               .insert({partition::sizes(node),
                        plan.factors,
                        {plan.mesh_dims.begin(), plan.mesh_dims.end()}})
               .second) {
        continue;
      }
      std::vector<Choice> choices = carry.from(op, {.option = problem.add(op, plan), .state = 0});
      if (alone(problem, choices) < most &&
          std::find(result.begin(), result.end(), choices) == result.end()) {
        result.push_back(std::move(choices));
      }
    }
  }
  return result;
}

}  // namespace elk::schedule
