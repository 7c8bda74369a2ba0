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
#include "elk/base/table.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/order.hpp"
#include "elk/partition/plan.hpp"
#include "elk/schedule/improve/align.hpp"
#include "elk/schedule/problem/schedule_tuning.hpp"
#include "elk/schedule/timing/idle.hpp"

namespace elk::schedule {
namespace {

/// The cuttable axes of the first two dimensions of several indices of the result of `op`.
std::vector<AxisId> outer_axes(const ir::Op& op) {
  std::vector<AxisId> result;
  for (const ir::Operand& operand : op.operands) {
    for (DimId dim{0}; dim.index() < operand.dims.size() && result.size() < 2; ++dim) {
      const AxisId axis =
          operand.access == ir::Access::Write ? cuttable_axis(op, operand, dim) : AxisId::none;
      const bool known = std::find(result.begin(), result.end(), axis) != result.end();
      if (axis != AxisId::none && !known && op.axes[axis].size > 1) {
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
  using CutFactors = Table<AxisId, std::int64_t>;
  /// The dimensions along which the two axes lie, -1: there are none.
  using GridSides = std::array<std::int32_t, 2>;

  void add(std::int64_t most_first, std::int64_t most_second, const GridSides& sides) {
    const auto size = [&](std::size_t i) { return op_.axes[axes_[i]].size; };
    for (const std::int64_t first : most_parts(size(0), most_first)) {
      CutFactors cut(op_.axes.size(), 1);
      cut[axes_[0]] = first;
      add(cut, sides);
      const std::int64_t left = sides[0] < 0 ? most_second / first : most_second;
      for (const std::int64_t second :
           axes_.size() < 2 ? std::set<std::int64_t>{} : most_parts(size(1), left)) {
        cut[axes_[1]] = second;
        add(cut, sides);
      }
    }
  }

  void add(const CutFactors& cut, const GridSides& sides) {
    auto plan = partition::complete_plan(
        graph_, op_, cut, Table<OperandId, Table<DimId, std::int64_t>>(op_.operands.size()), chip_);
    if (!plan) {
      return;
    }
    if (sides[0] >= 0) {
      for (std::size_t i = 0; i < axes_.size(); ++i) {
        plan->mesh_dims[axes_[i]] = cut[axes_[i]] > 1 ? sides[i] : -1;
      }
      std::sort(plan->order.begin(), plan->order.end(),
                [&](AxisId a, AxisId b) { return plan->mesh_dims[a] < plan->mesh_dims[b]; });
    }
    if (std::find(plans_.begin(), plans_.end(), *plan) == plans_.end()) {
      plans_.push_back(std::move(*plan));
    }
  }

  const ir::Graph& graph_;
  const ir::Op& op_;
  const chip::Chip& chip_;
  std::vector<AxisId> axes_;
  std::vector<partition::ExecutePlan> plans_;
};

class Carry {
 public:
  Carry(Problem& problem, const Table<OpId, Choice>& base) : problem_(problem), base_(base) {}

  /// The choices that follow from `seed` of all ops like `op`.
  Table<OpId, Choice> from(OpId op, std::int32_t seed) {
    choices_ = base_;
    moved_.assign(choices_.size(), false);
    for (OpId like = op; like.value < problem_.op_count(); ++like) {
      if (problem_.front_of()[like] == problem_.front_of()[op]) {
        take(like, seed);
      }
    }
    for (int way = 0; way < 2; ++way) {
      for (const OpId next : first_ids<OpId>(problem_.op_count())) {
        follow_makers(next);
      }
      for (std::int32_t next = problem_.op_count(); next-- > 0;) {
        follow_readers(OpId{next});
      }
    }
    return choices_;
  }

 private:
  /// In the largest preload state or, without HBM, one that keeps no more idle memory.
  void take(OpId op, std::int32_t option) {
    const cost::PlanOption& plan = problem_.option(op, {.option = option, .state = 0});
    const Bytes most = problem_.state(op, base_[op]).space;
    choices_[op] = {.option = option, .state = problem_.chip().hbm ? 0 : largest_state(plan, most)};
    moved_[op] = true;
  }

  [[nodiscard]] const ir::Op& node(OpId op) const { return problem_.graph().ops[op]; }

  void follow_makers(OpId op) {
    const Table<OperandId, ir::Operand>& operands = node(op).operands;
    for (OperandId slot{0}; slot.index() < operands.size() && !moved_[op]; ++slot) {
      const TensorId tensor = operands[slot].tensor;
      const OpId maker = problem_.lives().producer[tensor];
      if (operands[slot].access == ir::Access::Read && maker != OpId::none && moved_[maker]) {
        hold(op, slot, maker, problem_.write_slot(tensor));
      }
    }
  }

  void follow_readers(OpId op) {
    for (const OpId reader : problem_.readers(op)) {
      const Table<OperandId, ir::Operand>& operands = node(reader).operands;
      for (OperandId slot{0}; slot.index() < operands.size() && !moved_[op]; ++slot) {
        const TensorId tensor = operands[slot].tensor;
        if (operands[slot].access == ir::Access::Read && moved_[reader] &&
            problem_.lives().producer[tensor] == op) {
          hold(op, problem_.write_slot(tensor), reader, slot);
        }
      }
    }
  }

  /// Has `op` hold a tensor by operand `slot` as `other` has it by `other_slot`, if it can.
  void hold(OpId op, OperandId slot, OpId other, OperandId other_slot) {
    const Table<OpId, std::int32_t>& front = problem_.front_of();
    const std::int32_t held = choices_[other].option;
    const auto [found, added] =
        known_.try_emplace(std::tuple(front[op], slot, front[other], other_slot, held));
    if (added) {
      const partition::Layout layout =
          partition::layout(problem_.graph(), node(other), other_slot,
                            problem_.option(other, choices_[other]).plan, problem_.chip());
      const auto plan = follow(node(op), slot, layout, problem_.chip());
      found->second = plan ? problem_.add(op, *plan) : std::nullopt;
    }
    if (found->second) {
      take(op, *found->second);
    }
  }

  Problem& problem_;
  const Table<OpId, Choice>& base_;
  Table<OpId, Choice> choices_;
  Table<OpId, bool> moved_;
  std::map<std::tuple<std::int32_t, OperandId, std::int32_t, OperandId, std::int32_t>,
           std::optional<std::int32_t>>
      known_;
};

/// Seconds of the executes, whatever they gather.
Seconds alone(const Problem& problem, const Table<OpId, Choice>& choices) {
  Seconds sum{0.0};
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    const cost::PlanOption& option = problem.option(op, choices[op]);
    sum += option.compute + option.shift.time + option.reduce.time;
  }
  return sum;
}

}  // namespace

std::vector<Table<OpId, Choice>> carried(Problem& problem, const Table<OpId, Choice>& base,
                                         Seconds most) {
  Carry carry(problem, base);
  std::set<std::vector<Table<AxisId, std::int64_t>>> known;  // sizes, and their cuts
  std::vector<Table<OpId, Choice>> result;
  for (OpId op{0}; op.value < problem.op_count() && known.size() < tuning::kCarriedCuts; ++op) {
    const ir::Op& node = problem.graph().ops[op];
    for (const partition::ExecutePlan& plan :
         OuterCuts(problem.graph(), node, problem.chip()).all()) {
      if (!known
               .insert({partition::sizes(node),
                        plan.factors,
                        {plan.mesh_dims.begin(), plan.mesh_dims.end()}})
               .second) {
        continue;
      }
      const std::optional<std::int32_t> seed = problem.add(op, plan);
      if (!seed) {
        continue;
      }
      Table<OpId, Choice> choices = carry.from(op, *seed);
      if (alone(problem, choices) < most &&
          std::find(result.begin(), result.end(), choices) == result.end()) {
        result.push_back(std::move(choices));
      }
    }
  }
  return result;
}

}  // namespace elk::schedule
