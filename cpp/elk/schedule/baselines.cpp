#include "elk/schedule/baselines.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "elk/base/parallel.hpp"

namespace elk::schedule {
namespace {

constexpr std::int64_t kSplits = 64;

enum class Fill : std::uint8_t { Largest, Smallest };

/// One front's plans by what they cost with every preload in its largest or smallest state.
struct Ranked {
  std::vector<Step> steps;  // cost rises, space falls
};

Choice at_fill(const cost::Front& front, std::size_t option, Fill fill) {
  const auto last = static_cast<std::int32_t>(front.options[option].states.size()) - 1;
  return {.option = static_cast<std::int32_t>(option), .state = fill == Fill::Largest ? 0 : last};
}

Ranked ranked(const cost::Front& front, const Contention& contention, Fill fill) {
  std::vector<Step> steps;
  for (std::size_t k = 0; k < front.options.size(); ++k) {
    const cost::PlanOption& plan = front.options[k];
    const Choice choice = at_fill(front, k, fill);
    const cost::PreloadState& state = plan.states[static_cast<std::size_t>(choice.state)];
    steps.push_back({.choice = choice,
                     .cost = contention.seconds(work(plan, state, plan.gather)) +
                             (contention.late * state.time.value),
                     .space = plan.footprint.space});
  }
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
    return std::tie(a.cost, a.space, a.choice.option) < std::tie(b.cost, b.space, b.choice.option);
  });
  Ranked result{.steps = {}};
  for (const Step& step : steps) {
    if (result.steps.empty() || step.space < result.steps.back().space) {
      result.steps.push_back(step);
    }
  }
  return result;
}

/// The cheapest plan of at most `limit` bytes; the smallest one where none is.
const Step& fastest_within(const Ranked& front, Bytes limit) {
  const auto found = std::find_if(front.steps.begin(), front.steps.end(),
                                  [&](const Step& step) { return step.space <= limit; });
  return found != front.steps.end() ? *found : front.steps.back();
}

std::vector<Ranked> rank_all(const Problem& problem, const Contention& contention, Fill fill) {
  std::vector<Ranked> result;
  for (const cost::Front& front : problem.fronts()) {
    result.push_back(ranked(front, contention, fill));
  }
  return result;
}

std::vector<Choice> choose(const Problem& problem, const std::vector<Ranked>& fronts,
                           const std::vector<Bytes>& limits) {
  std::vector<Choice> result;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const auto front = static_cast<std::size_t>(problem.front_of()[i]);
    result.push_back(fastest_within(fronts[front], limits[i]).choice);
  }
  return result;
}

/// Room beside the activations of other ops that are alive at each execute.
std::vector<Bytes> beside_live(const Problem& problem, const std::vector<Choice>& typical,
                               Bytes room) {
  std::vector<Bytes> result = live_bytes(problem, typical);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const Bytes own = problem.option(static_cast<std::int32_t>(i), typical[i]).footprint.rest;
    result[i] = room - (result[i] - own);
  }
  return result;
}

/// What is left of `room` while `from`..`op` execute, `from` holding its own preload.
Bytes room_left(const Situation& now, std::int32_t from, std::int32_t op, Bytes room) {
  Bytes left = room;
  for (std::int32_t k = std::max(from, 0); k < op; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const Bytes own = k == from ? now.piece[at] : Bytes{0};
    left = std::min(left, room - now.base[at] - own);
  }
  return left;
}

/// The largest preload state of a plan that takes at most `left`, or else the smallest.
std::int32_t largest_state(const cost::PlanOption& plan, Bytes left) {
  for (std::size_t k = 0; k < plan.states.size(); ++k) {
    if (plan.states[k].space <= left) {
      return static_cast<std::int32_t>(k);
    }
  }
  return static_cast<std::int32_t>(plan.states.size()) - 1;
}

struct Split {
  Bytes execute;
  Fill fill;
  double seconds;
  Proposal proposal;
};

Split try_split(const Problem& problem, const std::vector<Ranked>& fronts,
                const std::vector<Bytes>& beside, Bytes room, Split split) {
  std::vector<Bytes> limits(beside);
  for (Bytes& limit : limits) {
    limit = limit - (room - split.execute);
  }
  split.proposal = {
      .choices = choose(problem, fronts, limits),
      .space = {.room = room, .preload_room = room - split.execute, .not_before = {}}};
  const Situation now = estimate(problem, split.proposal.choices);
  const Issue issue = issue_early(problem, now, problem.loaded(), split.proposal.space);
  split.seconds = std::numeric_limits<double>::infinity();
  if (!issue.shortage) {
    split.seconds = timing(problem, now, problem.loaded(), issue.issued_before).total.value;
  }
  return split;
}

}  // namespace

Proposal basic(Problem& problem, const Contention& contention, Bytes room) {
  const std::vector<Ranked> fronts = rank_all(problem, contention, Fill::Largest);
  const std::vector<Bytes> all(static_cast<std::size_t>(problem.op_count()), room);
  const std::vector<Choice> typical = choose(problem, fronts, all);
  Proposal result{.choices = choose(problem, fronts, beside_live(problem, typical, room)),
                  .space = {.room = room,
                            .preload_room = room,
                            .not_before = std::vector<std::int32_t>(all.size(), 0)}};
  const Situation now = estimate(problem, result.choices);
  std::int32_t before = -1;
  for (const std::int32_t op : problem.loaded()) {
    const auto at = static_cast<std::size_t>(op);
    result.choices[at].state =
        largest_state(problem.option(op, result.choices[at]), room_left(now, before, op, room));
    result.space.not_before[at] = std::max(before, 0);
    before = op;
  }
  return result;
}

std::vector<Proposal> fixed_splits(const Problem& problem, const Contention& contention, Bytes room,
                                   std::size_t count, int threads) {
  const std::vector<Ranked> largest = rank_all(problem, contention, Fill::Largest);
  const std::vector<Ranked> smallest = rank_all(problem, contention, Fill::Smallest);
  const std::vector<Bytes> all(static_cast<std::size_t>(problem.op_count()), room);
  const std::vector<Bytes> beside = beside_live(problem, choose(problem, largest, all), room);
  std::vector<Split> splits;
  for (std::int64_t k = 1; k < kSplits; ++k) {
    for (const Fill fill : {Fill::Largest, Fill::Smallest}) {
      splits.push_back({.execute = {room.value / kSplits * k},
                        .fill = fill,
                        .seconds = 0.0,
                        .proposal = {.choices = {}, .space = {}}});
    }
  }
  splits = parallel_map(
      splits,
      [&](const Split& split) {
        const auto& fronts = split.fill == Fill::Largest ? largest : smallest;
        return try_split(problem, fronts, beside, room, split);
      },
      threads);
  std::stable_sort(splits.begin(), splits.end(),
                   [](const Split& a, const Split& b) { return a.seconds < b.seconds; });
  std::vector<Proposal> result;
  for (Split& split : splits) {
    if (result.size() < count && split.seconds < std::numeric_limits<double>::infinity()) {
      result.push_back(std::move(split.proposal));
    }
  }
  return result;
}

}  // namespace elk::schedule
