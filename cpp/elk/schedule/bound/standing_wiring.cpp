#include "elk/schedule/bound/standing_wiring.hpp"

#include <algorithm>
#include <cmath>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"

namespace elk::schedule {

const cost::Standing& known_of(const cost::Front& front) {
  static const cost::Standing nothing{};
  return front.floor.standing != nullptr ? *front.floor.standing : nothing;
}

bool Wiring::hangs(OpId op) const {
  const bool small = problem_.graph().ops[op].kind != ir::OpKind::MatMul;
  return standing(op).operand != OperandId::none && (small || standings_ == Standings::Executes);
}

OpId Wiring::maker(OpId op) const {
  const ir::Op& node = problem_.graph().ops[op];
  const TensorId tensor = node.operands[standing(op).operand].tensor;
  const OpId made_by = problem_.lives().producer[tensor];
  return made_by != OpId::none && hangs(made_by) ? made_by : OpId::none;
}

std::vector<std::vector<double>> Wiring::times() const {
  std::vector<std::vector<double>> result;
  for (const cost::Front& front : problem_.fronts()) {
    std::vector<double>& times = result.emplace_back();
    for (const cost::StandingCut& cut : known_of(front).cuts) {
      const bool executes = standings_ == Standings::Executes;
      times.push_back(executes ? cut.execute.value : cut.ports.value);
    }
  }
  if (priced_ == nullptr) {
    return result;
  }
  std::vector<bool> priced(result.size(), false);
  for (const OpId op : first_ids<OpId>(problem_.op_count())) {
    const std::size_t front = subscript(problem_.front_of()[op]);
    const std::vector<Priced::Times>& own = priced_->times[priced_->kind_of[op]];
    for (std::size_t cut = 0; cut < own.size(); ++cut) {
      const double before = priced[front] ? result[front][cut] : own[cut].least;
      result[front][cut] = std::min(before, own[cut].least);
    }
    priced[front] = priced[front] || !own.empty();
  }
  return result;
}

double Wiring::longest() const {
  std::vector<double> known;
  for (const cost::Front& front : problem_.fronts()) {
    known.push_back(longest(known_of(front)));
  }
  std::vector<double> priced;
  if (priced_ != nullptr) {
    for (const std::vector<Priced::Times>& times : priced_->times) {
      double& most = priced.emplace_back(0.0);
      for (const Priced::Times& time : times) {
        most = std::max(most, std::abs(time.least));
      }
    }
  }
  double sum = 0.0;
  for (const OpId op : first_ids<OpId>(problem_.op_count())) {
    if (hangs(op)) {
      sum += known[subscript(problem_.front_of()[op])];
      sum += priced_ != nullptr ? priced[priced_->kind_of[op]] : 0.0;
    }
  }
  return sum;
}

/// Of an op with its exchange.
double Wiring::longest(const cost::Standing& known) const {
  double most = 0.0;
  for (const cost::StandingCut& cut : known.cuts) {
    most = std::max({most, cut.execute.value, cut.ports.value});
  }
  const auto cores = static_cast<double>(chip::total_cores(problem_.chip()));
  return most + known.exchange.value +
         (static_cast<double>(known.elements) *
          ((cores * known.element_time) + known.fragment.value));
}

TogetherKey Wiring::key() const {
  TogetherKey result{.standings = standings_,
                     .fronts = {},
                     .front_of = {},
                     .makers = {},
                     .excess = {excess_.begin(), excess_.end()}};
  for (const cost::Front& front : problem_.fronts()) {
    result.fronts.push_back(front.floor.standing);
  }
  for (const OpId op : first_ids<OpId>(problem_.op_count())) {
    result.front_of.push_back(hangs(op) ? problem_.front_of()[op] : -1);
    result.makers.push_back(hangs(op) ? maker(op).value : -1);
  }
  return result;
}

}  // namespace elk::schedule
