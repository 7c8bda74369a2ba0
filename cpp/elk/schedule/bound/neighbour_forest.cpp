#include "elk/schedule/bound/neighbour_forest.hpp"

#include <algorithm>
#include <cmath>

#include "elk/base/ids.hpp"

namespace elk::schedule {

const cost::LayoutFloor& known_of(const cost::Front& front) {
  static const cost::LayoutFloor nothing{};
  return front.floor.layout_floor != nullptr ? *front.floor.layout_floor : nothing;
}

bool NeighbourForest::hangs(std::int32_t op) const {
  const bool small = problem_.graph().ops[subscript(op)].kind != ir::OpKind::MatMul;
  return layout_floor(op).operand >= 0 && (small || summed_ == NeighbourSum::Executes);
}

std::int32_t NeighbourForest::maker(std::int32_t op) const {
  const ir::Op& node = problem_.graph().ops[subscript(op)];
  const std::int32_t tensor = node.operands[subscript(layout_floor(op).operand)].tensor;
  const std::int32_t made_by = problem_.lives().producer[subscript(tensor)];
  return made_by >= 0 && hangs(made_by) ? made_by : -1;
}

std::vector<std::vector<double>> NeighbourForest::times() const {
  std::vector<std::vector<double>> result;
  for (const cost::Front& front : problem_.fronts()) {
    std::vector<double>& times = result.emplace_back();
    for (const cost::LayoutCut& cut : known_of(front).cuts) {
      const bool executes = summed_ == NeighbourSum::Executes;
      times.push_back(executes ? cut.execute.value : cut.ports.value);
    }
  }
  if (gather_times_ == nullptr) {
    return result;
  }
  std::vector<bool> gather_times(result.size(), false);
  for (std::int32_t op = 0; op < problem_.op_count(); ++op) {
    const std::size_t front = subscript(problem_.front_of()[subscript(op)]);
    const std::vector<GatherTimes::CutSeconds>& own =
        gather_times_->times[gather_times_->kind_of[subscript(op)]];
    for (std::size_t cut = 0; cut < own.size(); ++cut) {
      const double before = gather_times[front] ? result[front][cut] : own[cut].least;
      result[front][cut] = std::min(before, own[cut].least);
    }
    gather_times[front] = gather_times[front] || !own.empty();
  }
  return result;
}

double NeighbourForest::longest() const {
  std::vector<double> known;
  for (const cost::Front& front : problem_.fronts()) {
    known.push_back(longest(known_of(front)));
  }
  std::vector<double> gather_times;
  if (gather_times_ != nullptr) {
    for (const std::vector<GatherTimes::CutSeconds>& times : gather_times_->times) {
      double& most = gather_times.emplace_back(0.0);
      for (const GatherTimes::CutSeconds& time : times) {
        most = std::max(most, std::abs(time.least));
      }
    }
  }
  double sum = 0.0;
  for (std::int32_t op = 0; op < problem_.op_count(); ++op) {
    if (hangs(op)) {
      sum += known[subscript(problem_.front_of()[subscript(op)])];
      sum += gather_times_ != nullptr ? gather_times[gather_times_->kind_of[subscript(op)]] : 0.0;
    }
  }
  return sum;
}

/// Of an op with its exchange.
double NeighbourForest::longest(const cost::LayoutFloor& known) const {
  double most = 0.0;
  for (const cost::LayoutCut& cut : known.cuts) {
    most = std::max({most, cut.execute.value, cut.ports.value});
  }
  const auto cores = static_cast<double>(chip::total_cores(problem_.chip()));
  return most + known.exchange.value +
         (static_cast<double>(known.elements) *
          ((cores * known.element_time) + known.fragment.value));
}

NeighbourKey NeighbourForest::key() const {
  NeighbourKey result{.summed = summed_,
                      .fronts = {},
                      .front_of = {},
                      .makers = {},
                      .extra = {extra_.begin(), extra_.end()}};
  for (const cost::Front& front : problem_.fronts()) {
    result.fronts.push_back(front.floor.layout_floor);
  }
  for (std::int32_t op = 0; op < problem_.op_count(); ++op) {
    result.front_of.push_back(hangs(op) ? problem_.front_of()[subscript(op)] : -1);
    result.makers.push_back(hangs(op) ? maker(op) : -1);
  }
  return result;
}

}  // namespace elk::schedule
