#include "elk/schedule/timing/allocate.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <tuple>
#include <utility>

namespace elk::schedule {
namespace {

constexpr std::size_t kExecute = std::numeric_limits<std::size_t>::max();

/// Bytes freed for each second added; a step that costs nothing is worth any number of others.
double worth(Bytes freed, double added) {
  return added <= 0.0 ? std::numeric_limits<double>::infinity()
                      : static_cast<double>(freed.value) / added;
}

struct AllocationMove {
  std::size_t who;  // a resident, or kExecute
  double worth;
  double added;
  Bytes freed;
};

class AllocationSearch {
 public:
  AllocationSearch(const Problem& problem, const Staircase& stairs,
                   std::vector<WaitingOp> residents, const Contention& contention)
      : problem_(problem),
        stairs_(stairs),
        residents_(std::move(residents)),
        contention_(contention) {
    total_ = stairs.front().space;
    for (const WaitingOp& resident : residents_) {
      total_ += problem.state(resident.op, resident.choice).space;
    }
  }

  Allocation run(Bytes room) {
    while (total_ > room) {
      const AllocationMove move = best_move();
      work_ += static_cast<std::int64_t>(residents_.size()) + 1;
      if (move.freed.value <= 0) {
        return finish(false);
      }
      total_ -= move.freed;
      if (move.who == kExecute) {
        ++step_;
      } else {
        ++residents_[move.who].choice.state;
        added_ += move.added;
      }
    }
    return finish(true);
  }

 private:
  [[nodiscard]] AllocationMove best_move() const {
    AllocationMove best{.who = kExecute, .worth = -1.0, .added = 0.0, .freed = {0}};
    if (step_ + 1 < stairs_.size()) {
      const double added = stairs_[step_ + 1].cost - stairs_[step_].cost;
      const Bytes freed = stairs_[step_].space - stairs_[step_ + 1].space;
      best = {.who = kExecute, .worth = worth(freed, added), .added = added, .freed = freed};
    }
    for (std::size_t k = 0; k < residents_.size(); ++k) {
      const cost::PlanOption& option = problem_.option(residents_[k].op, residents_[k].choice);
      const auto state = static_cast<std::size_t>(residents_[k].choice.state);
      if (state + 1 >= option.states.size()) {
        continue;
      }
      const double added =
          state_cost(option, state + 1, contention_) - state_cost(option, state, contention_);
      const Bytes freed = option.states[state].space - option.states[state + 1].space;
      if (worth(freed, added) > best.worth) {
        best = {.who = k, .worth = worth(freed, added), .added = added, .freed = freed};
      }
    }
    return best;
  }

  Allocation finish(bool fits) {
    return {.choice = stairs_[step_].choice,
            .residents = std::move(residents_),
            .added = std::max(added_, 0.0),
            .fits = fits,
            .work = work_ + static_cast<std::int64_t>(residents_.size()) + 1};
  }

  const Problem& problem_;
  const Staircase& stairs_;
  std::vector<WaitingOp> residents_;
  const Contention& contention_;
  Bytes total_{0};
  std::size_t step_ = 0;
  double added_ = 0.0;
  std::int64_t work_ = 0;
};

StaircaseStep step(const cost::Front& front, std::size_t option, const Contention& contention,
                   double least_load) {
  const cost::PlanOption& plan = front.options[option];
  const cost::PreloadState none{.divisor = {},
                                .space = {0},
                                .link = {0},
                                .hbm_bytes = 0,
                                .chip_hbm_bytes = 0,
                                .hbm_time = {0.0},
                                .time = {0.0},
                                .wire = {0.0},
                                .distribute = {}};
  StaircaseStep best{.choice = {.option = static_cast<std::int32_t>(option), .state = 0},
                     .cost = std::numeric_limits<double>::infinity(),
                     .space = plan.footprint.space};
  for (std::size_t k = 0; k < plan.states.size(); ++k) {
    const double late = std::max(0.0, plan.states[k].hbm_time.value - least_load);
    const double cost = state_cost(plan, k, contention) + (contention.late * late);
    if (cost < best.cost) {
      best.choice.state = static_cast<std::int32_t>(k);
      best.cost = cost;
    }
  }
  best.cost += contention.seconds(work(plan, none, plan.gather));
  return best;
}

/// The cheapest first; ties go to less space, then to the earlier option.
void sort(StaircaseSteps& steps) {
  std::sort(steps.begin(), steps.end(), [](const StaircaseStep& a, const StaircaseStep& b) {
    return std::tie(a.cost, a.space, a.choice.option) < std::tie(b.cost, b.space, b.choice.option);
  });
}

}  // namespace

double Contention::seconds(const cost::ExecuteCost& work) const {
  const double wire = (work.in.wire + work.out.wire).value;
  const double fixed = work.alone().value - work.compute.value - wire;
  return fixed + (wire / (1.0 - std::min(share, 0.5))) +
         (work.compute.value / (1.0 - std::min(drag * share, 0.5)));
}

double state_cost(const cost::PlanOption& option, std::size_t k, const Contention& contention) {
  const cost::PreloadState& state = option.states[k];
  const cost::ExecuteCost fetch{
      .in = moving(state.distribute), .compute = {0.0}, .out = moving(cost::kNoExchange)};
  return contention.seconds(fetch) + (contention.late * (state.time.value - state.hbm_time.value));
}

StaircaseSteps steps(const cost::Front& front, const Contention& contention) {
  double least_load = std::numeric_limits<double>::infinity();
  for (const cost::PlanOption& option : front.options) {
    least_load = std::min(least_load, option.states.front().hbm_time.value);
  }
  StaircaseSteps result;
  result.reserve(front.options.size());
  for (std::size_t k = 0; k < front.options.size(); ++k) {
    result.push_back(step(front, k, contention, least_load));
  }
  sort(result);
  return result;
}

Staircase staircase(StaircaseSteps steps) {
  sort(steps);
  Staircase result;
  for (const StaircaseStep& candidate : steps) {
    if (result.empty() || candidate.space < result.back().space) {
      result.push_back(candidate);
    }
  }
  return result;
}

Staircase staircase(const cost::Front& front, const Contention& contention) {
  return staircase(steps(front, contention));
}

Allocation allocate(const Problem& problem, const Staircase& stairs,
                    std::vector<WaitingOp> residents, Bytes room, const Contention& contention) {
  return AllocationSearch(problem, stairs, std::move(residents), contention).run(room);
}

}  // namespace elk::schedule
