#include "elk/schedule/policies/baselines.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/parallel.hpp"
#include "elk/base/table.hpp"
#include "elk/schedule/problem/schedule_tuning.hpp"
#include "elk/schedule/timing/idle.hpp"

namespace elk::schedule {
namespace {

enum class Fill : std::uint8_t { Largest, Smallest };

Choice at_fill(const cost::Front& front, std::size_t option, Fill fill) {
  const auto last = static_cast<std::int32_t>(front.options[option].states.size()) - 1;
  return {.option = static_cast<std::int32_t>(option), .state = fill == Fill::Largest ? 0 : last};
}

/// A front's plans by what they cost with every preload in its largest or smallest state.
Staircase ranked(const cost::Front& front, const Contention& contention, Fill fill) {
  StaircaseSteps steps;
  for (std::size_t k = 0; k < front.options.size(); ++k) {
    const cost::PlanOption& plan = front.options[k];
    const Choice choice = at_fill(front, k, fill);
    const cost::PreloadState& state = plan.states[static_cast<std::size_t>(choice.state)];
    steps.push_back({.choice = choice,
                     .cost = contention.seconds(work(plan, state, plan.gather)) +
                             (contention.late * state.time.value),
                     .space = plan.footprint.space});
  }
  return staircase(std::move(steps));
}

/// The cheapest plan of at most `limit` bytes; the smallest one where none is.
const StaircaseStep& fastest_within(const Staircase& front, Bytes limit) {
  const auto found = std::find_if(front.begin(), front.end(),
                                  [&](const StaircaseStep& step) { return step.space <= limit; });
  return found != front.end() ? *found : front.back();
}

std::vector<Staircase> rank_all(const Problem& problem, const Contention& contention, Fill fill) {
  std::vector<Staircase> result;
  for (const cost::Front& front : problem.fronts()) {
    result.push_back(ranked(front, contention, fill));
  }
  return result;
}

Table<OpId, Choice> choose(const Problem& problem, const std::vector<Staircase>& fronts,
                           const Table<OpId, Bytes>& limits) {
  Table<OpId, Choice> result;
  for (const OpId i : limits.ids()) {
    const auto front = static_cast<std::size_t>(problem.front_of()[i]);
    result.push_back(fastest_within(fronts[front], limits[i]).choice);
  }
  return result;
}

/// Room beside the activations of other ops that are alive at each execute.
Table<OpId, Bytes> beside_live(const Problem& problem, const Table<OpId, Choice>& typical,
                               Bytes room) {
  Table<OpId, Bytes> result = live_bytes(problem, typical);
  for (const OpId i : result.ids()) {
    const Bytes own = problem.option(i, typical[i]).footprint.rest;
    result[i] = room - (result[i] - own);
  }
  return result;
}

/// What is left of `room` while `from`..`op` execute, `from` holding its own preload.
Bytes room_left(const Situation& now, OpId from, OpId op, Bytes room) {
  Bytes left = room;
  for (OpId k = std::max(from, OpId{0}); k < op; ++k) {
    const Bytes own = k == from ? now.piece[k] : Bytes{0};
    left = std::min(left, room - now.base[k] - own);
  }
  return left;
}

struct SramShare {
  Bytes execute;
  double seconds;
};

/// Splits next to one another under which every op takes the same plan.
struct ShareRange {
  Fill fill;
  Table<OpId, Choice> choices;
  std::vector<SramShare> splits;
};

Proposal proposal(const Table<OpId, Choice>& choices, Bytes execute, Bytes room) {
  return {.choices = choices,
          .space = {.room = room, .preload_room = room - execute, .not_before = {}}};
}

/// Room for each op's plan where executes get `execute` of it.
Table<OpId, Bytes> limits(const Table<OpId, Bytes>& beside, Bytes execute, Bytes room) {
  Table<OpId, Bytes> result(beside);
  for (Bytes& limit : result) {
    limit = limit - (room - execute);
  }
  return result;
}

/// All splits with preloads filled as `fill` says, in runs.
std::vector<ShareRange> runs(const Problem& problem, const std::vector<Staircase>& fronts,
                             const Table<OpId, Bytes>& beside, Bytes room, Fill fill) {
  std::vector<ShareRange> result;
  for (std::int64_t k = 1; k < tuning::kSplitsTried; ++k) {
    const SramShare split{.execute = {room.value / tuning::kSplitsTried * k}, .seconds = 0.0};
    Table<OpId, Choice> choices = choose(problem, fronts, limits(beside, split.execute, room));
    const bool again = !result.empty() && result.back().choices == choices &&
                       result.back().splits.size() < tuning::kSplitsInARow;
    if (!again) {
      result.push_back({.fill = fill, .choices = std::move(choices), .splits = {}});
    }
    result.back().splits.push_back(split);
  }
  return result;
}

/// Seconds of each split of a run; endless where preloads do not fit.
std::vector<SramShare> timed(const Problem& problem, const ShareRange& run, Bytes room) {
  const Situation now = estimate(problem, run.choices);
  std::vector<SramShare> result = run.splits;
  Table<OpId, std::int32_t> issued_before;  // of the last one that fits
  double seconds = 0.0;
  for (SramShare& split : result) {
    const PreloadLimits space{.room = room, .preload_room = room - split.execute, .not_before = {}};
    Issue issue = schedule::issue(problem, now, problem.loaded(), space);
    if (issue.shortage) {
      split.seconds = std::numeric_limits<double>::infinity();
      continue;
    }
    if (issue.issued_before != issued_before) {
      issued_before = std::move(issue.issued_before);
      seconds = timing(problem, now, problem.loaded(), issued_before).total.value;
    }
    split.seconds = seconds;
  }
  return result;
}

/// A split of a run, by how long it takes; ties go to less room for executes, and to the largest
/// preload states.
struct Rank {
  double seconds;
  std::int64_t execute;
  Fill fill;
  std::size_t run;

  friend auto operator<=>(const Rank&, const Rank&) = default;
};

}  // namespace

Proposal basic(Problem& problem, const Contention& contention, Bytes room) {
  const std::vector<Staircase> fronts = rank_all(problem, contention, Fill::Largest);
  const Table<OpId, Bytes> all(static_cast<std::size_t>(problem.op_count()), room);
  const Table<OpId, Choice> typical = choose(problem, fronts, all);
  Proposal result{.choices = choose(problem, fronts, beside_live(problem, typical, room)),
                  .space = {.room = room,
                            .preload_room = room,
                            .not_before = Table<OpId, OpId>(all.size(), OpId{0})}};
  const Situation now = estimate(problem, result.choices);
  OpId before = OpId::none;
  for (const OpId op : problem.loaded()) {
    result.choices[op].state =
        largest_state(problem.option(op, result.choices[op]), room_left(now, before, op, room));
    result.space.not_before[op] = std::max(before, OpId{0});
    before = op;
  }
  return result;
}

std::vector<Proposal> fixed_splits(const Problem& problem, const Contention& contention, Bytes room,
                                   std::size_t count, int threads) {
  const std::vector<Staircase> largest = rank_all(problem, contention, Fill::Largest);
  const std::vector<Staircase> smallest = rank_all(problem, contention, Fill::Smallest);
  const Table<OpId, Bytes> all(static_cast<std::size_t>(problem.op_count()), room);
  const Table<OpId, Bytes> beside = beside_live(problem, choose(problem, largest, all), room);
  std::vector<ShareRange> all_runs = runs(problem, largest, beside, room, Fill::Largest);
  for (ShareRange& run : runs(problem, smallest, beside, room, Fill::Smallest)) {
    all_runs.push_back(std::move(run));
  }
  const std::vector<std::vector<SramShare>> splits = parallel_map(
      all_runs, [&](const ShareRange& run) { return timed(problem, run, room); }, threads);
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < splits.size(); ++i) {
    for (const SramShare& split : splits[i]) {
      if (split.seconds < std::numeric_limits<double>::infinity()) {
        ranks.push_back({.seconds = split.seconds,
                         .execute = split.execute.value,
                         .fill = all_runs[i].fill,
                         .run = i});
      }
    }
  }
  std::sort(ranks.begin(), ranks.end());
  std::vector<Proposal> result;
  for (std::size_t k = 0; k < std::min(count, ranks.size()); ++k) {
    result.push_back(proposal(all_runs[ranks[k].run].choices, {ranks[k].execute}, room));
  }
  return result;
}

}  // namespace elk::schedule
