#include "elk/schedule/policies/economize.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/parallel.hpp"
#include "elk/base/table.hpp"
#include "elk/cost/front/thrifty.hpp"
#include "elk/schedule/improve/polish.hpp"
#include "elk/schedule/policies/induction.hpp"
#include "elk/schedule/policies/placement.hpp"
#include "elk/schedule/problem/schedule_tuning.hpp"
#include "elk/schedule/timing/evaluate.hpp"

namespace elk::schedule {
namespace {

constexpr double kBetter = 1.0 - 1e-9;  // must beat rounding

/// The first op of each front.
std::vector<OpId> first_ops(const Problem& problem) {
  std::vector<OpId> result(problem.fronts().size(), OpId::none);
  for (OpId op{problem.op_count()}; op-- > OpId{0};) {
    result[subscript(problem.front_of()[op])] = op;
  }
  return result;
}

void add_thrifty(Problem& problem, const Economy& economy) {
  const std::vector<OpId> firsts = first_ops(problem);
  const auto plans = parallel_map(
      firsts,
      [&](OpId op) {
        return cost::thrifty_plans(problem.graph(), problem.graph().ops[op], problem.chip(),
                                   problem.tiles(), economy.constraints);
      },
      economy.threads);
  for (std::size_t front = 0; front < firsts.size(); ++front) {
    for (const partition::ExecutePlan& plan : plans[front]) {
      problem.add(firsts[front], plan);
    }
  }
}

/// Of a front, what no other choice beats in both time and energy, alone.
std::vector<Choice> frugal_choices(const Problem& problem, OpId op, Ledger& ledger) {
  std::vector<std::tuple<double, double, Choice>> all;
  const cost::Front& front = problem.front(op);
  for (std::size_t i = 0; i < front.options.size(); ++i) {
    const cost::PlanOption& option = front.options[i];
    for (std::size_t k = 0; k < option.states.size(); ++k) {
      const Choice choice{.option = static_cast<std::int32_t>(i),
                          .state = static_cast<std::int32_t>(k)};
      const Seconds time = option.time + option.states[k].distribute.time;
      all.emplace_back(time.value, ledger.alone(op, choice), choice);
    }
  }
  std::sort(all.begin(), all.end());
  std::vector<Choice> result;
  double least = 0.0;
  for (const auto& [seconds, joules, choice] : all) {
    if (result.empty() || joules < least) {
      least = joules;
      result.push_back(choice);
    }
  }
  return result;
}

/// What polishing is to reach: the aim, by the forecast of the whole.
Goal goal(const Problem& problem, const Aim& aim, Ledger& ledger) {
  Goal result{.worth =
                  [&ledger, aim](Seconds time, const Table<OpId, Choice>& choices) {
                    return aim.worth(time, ledger.joules(choices));
                  },
              .choices = {}};
  for (const OpId op : first_ops(problem)) {
    result.choices.push_back(frugal_choices(problem, op, ledger));
  }
  return result;
}

std::optional<Found> placed(Problem& problem, const Economy& economy, Proposal proposal) {
  Contender contender{.policy = economy.policy,
                      .proposal = std::move(proposal),
                      .situation = {},
                      .issue = {},
                      .times = {}};
  const Proposal& own = contender.proposal;
  contender.situation = situation(problem, own.choices);
  contender.issue = issue(problem, contender.situation, preload_order(problem, own), own.space);
  if (contender.issue.shortage) {
    return std::nullopt;
  }
  contender.times = timing(problem, contender.situation, preload_order(problem, own),
                           contender.issue.issued_before);
  constexpr Seconds kAny{std::numeric_limits<double>::infinity()};
  auto fits = place(problem, contender, kAny, chip::room(problem.chip()), economy.threads);
  return fits ? std::optional(found(problem, std::move(*fits))) : std::nullopt;
}

}  // namespace

Ledger::Ledger(Problem& problem)
    : problem_(problem),
      energy_(problem.graph(), problem.chip()),
      executes_(problem.fronts().size()) {
  for (const ir::Store& store : stores(problem)) {
    stores_ += energy_.store(store);
  }
}

double Ledger::execute(OpId op, const Choice& choice) {
  std::vector<double>& known = executes_[subscript(problem_.front_of()[op])];
  known.resize(std::max(known.size(), subscript(choice.option) + 1), -1.0);
  double& joules = known[subscript(choice.option)];
  if (joules < 0.0) {
    joules = energy_.execute(problem_.graph().ops[op], problem_.option(op, choice));
  }
  return joules;
}

double Ledger::alone(OpId op, const Choice& choice) {
  const cost::PlanOption& option = problem_.option(op, choice);
  return execute(op, choice) + energy_.bring(option, problem_.state(op, choice), option.gather);
}

double Ledger::joules(const Table<OpId, Choice>& choices) {
  double sum = stores_;
  for (const OpId op : first_ids<OpId>(problem_.op_count())) {
    const Choice& choice = choices[op];
    sum +=
        execute(op, choice) + energy_.bring(problem_.option(op, choice), problem_.state(op, choice),
                                            problem_.in_place(op, choices).gather);
  }
  return sum;
}

std::optional<Found> economize(Problem& problem, const Found& found, const Economy& economy) {
  add_thrifty(problem, economy);
  Ledger ledger(problem);
  const auto worth = [&](const Found& one) {
    return economy.aim.worth(one.times.total, ledger.joules(one.schedule.ops));
  };
  const Bytes room = chip::room(problem.chip());
  Proposal proposal{.choices = found.schedule.ops,
                    .space = {.room = room, .preload_room = room, .not_before = {}}};
  const Goal aimed = goal(problem, economy.aim, ledger);
  polish(problem, proposal, contention(problem),
         {.most = tuning::kEconomyWork, .threads = economy.threads, .goal = &aimed});
  Proposal ordered = proposal;
  ordered.order = found.schedule.preload_order;
  std::optional<Found> best;
  for (Proposal* one : {&proposal, &ordered}) {
    std::optional<Found> next = placed(problem, economy, std::move(*one));
    if (next && worth(*next) < kBetter * worth(best ? *best : found)) {
      best = std::move(next);
    }
  }
  if (best && economy.appraise &&
      economy.appraise(best->program) > economy.appraise(found.program)) {
    return std::nullopt;
  }
  if (best) {
    best->raw = found.raw;
    best->solved_layers = found.solved_layers;
    best->orders = found.orders;
  }
  return best;
}

}  // namespace elk::schedule
