#include "elk/schedule/bound/neighbour_forest.hpp"

#include <algorithm>
#include <cmath>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"

namespace elk::schedule {

const cost::LayoutFloor& known_of(const cost::Front& front) {
  static const cost::LayoutFloor nothing{};
  return front.floor.layout_floor != nullptr ? *front.floor.layout_floor : nothing;
}

bool NeighbourForest::hangs(OpId op) const {
  const bool small = problem_.graph().ops[op].kind != ir::OpKind::MatMul;
  return layout_floor(op).operand != OperandId::none &&
         (small || summed_ == NeighbourSum::Executes);
}

OpId NeighbourForest::maker(OpId op) const {
  const ir::Op& node = problem_.graph().ops[op];
  const TensorId tensor = node.operands[layout_floor(op).operand].tensor;
  const OpId made_by = problem_.lives().producer[tensor];
  return made_by != OpId::none && hangs(made_by) ? made_by : OpId::none;
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
  return result;
}

double NeighbourForest::longest() const {
  std::vector<double> known;
  for (const cost::Front& front : problem_.fronts()) {
    known.push_back(longest(known_of(front)));
  }
  double sum = 0.0;
  for (const OpId op : first_ids<OpId>(problem_.op_count())) {
    if (hangs(op)) {
      sum += known[subscript(problem_.front_of()[op])];
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
  for (const OpId op : first_ids<OpId>(problem_.op_count())) {
    result.front_of.push_back(hangs(op) ? problem_.front_of()[op] : -1);
    result.makers.push_back(hangs(op) ? maker(op).value : -1);
  }
  return result;
}

}  // namespace elk::schedule
