#include "elk/schedule/policies/ideal.hpp"

#include <cstddef>
#include <optional>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/schedule/improve/polish.hpp"
#include "elk/schedule/policies/induction.hpp"
#include "elk/schedule/policies/registry.hpp"
#include "elk/schedule/timing/evaluate.hpp"
#include "elk/schedule/timing/ideal_times.hpp"

namespace elk::schedule {
namespace {

/// For each execute, how many preloads nothing keeps back from coming before it.
std::vector<std::int32_t> issuable(const Problem& problem) {
  std::vector<std::int32_t> result;
  std::size_t next = 0;
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    while (next < problem.loaded().size() && problem.not_before(problem.loaded()[next]) <= op) {
      ++next;
    }
    result.push_back(static_cast<std::int32_t>(next));
  }
  return result;
}

std::vector<Choice> fastest_choices(const Problem& problem) {
  std::vector<Choice> result;
  result.reserve(problem.front_of().size());
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    result.push_back(
        least_preloaded(problem, op, {.option = problem.front(op).fastest, .state = 0}));
  }
  return result;
}

Ideal ideal_of(Problem& problem, std::vector<Choice> choices) {
  Ideal result{.schedule = {.ops = std::move(choices),
                            .preload_order = problem.loaded(),
                            .issued_before = issuable(problem)},
               .in_place = {},
               .times = {}};
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    result.in_place.push_back(problem.in_place(op, result.schedule.ops));
  }
  result.times = ideal_times(problem, situation(problem, result.schedule.ops, TimingRules::Ideal));
  return result;
}

/// The best choices, the first of equals.
std::vector<Choice> best_of(Problem& problem, const Ideal& start,
                            const std::vector<std::vector<Choice>>& found) {
  std::vector<Choice> best = start.schedule.ops;
  Seconds least = start.times.total;
  for (const std::vector<Choice>& some : found) {
    std::vector<Choice> choices = least_preloaded(problem, some);
    const Seconds seconds =
        ideal_times(problem, situation(problem, choices, TimingRules::Ideal)).total;
    if (seconds < least) {
      least = seconds;
      best = std::move(choices);
    }
  }
  return best;
}

}  // namespace

Ideal fastest_alone(Problem& problem) { return ideal_of(problem, fastest_choices(problem)); }

Ideal ideal(Problem& problem, const Ideal& start, const std::vector<std::vector<Choice>>& found,
            const IdealOptions& options) {
  Proposal best{.choices = best_of(problem, start, found), .space = {}};
  polish(problem, best, contention(problem),
         {.most = options.most, .threads = options.threads, .rules = TimingRules::Ideal});
  return ideal_of(problem, std::move(best.choices));
}

template <>
void propose<Policy::Ideal>(Searcher& /*search*/) {}

}  // namespace elk::schedule
