#include "elk/schedule/policies/placement.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/mechanisms.hpp"
#include "elk/base/parallel.hpp"
#include "elk/base/table.hpp"
#include "elk/schedule/problem/schedule_tuning.hpp"

namespace elk::schedule {
namespace {

/// A candidate with the look-ahead under which it is to be placed.
struct Trial {
  Table<OpId, std::int32_t> issued_before;
  cost::TimelineResult times;
};

/// Bytes in use at each execute where tensors that are written back rest until the store is known
/// to be over: at the execute of the first preload issued after it.
Table<OpId, Bytes> with_stores(const Problem& problem, const Contender& candidate,
                               const Table<OpId, std::int32_t>& issued_before) {
  Table<OpId, Bytes> base(candidate.situation.base);
  const std::vector<OpId>& order = preload_order(problem, candidate.proposal);
  for (const ir::Store& store : stores(problem)) {
    const auto op = store.op;
    const auto next = static_cast<std::size_t>(issued_before[op]);
    const OpId over = next < order.size() ? order[next] : OpId{problem.op_count() - 1};
    for (OpId at = last_use(problem, store.tensor) + 1; at <= over; ++at) {
      base[at] += candidate.situation.rest[op];
    }
  }
  return base;
}

/// No earlier than the capacity rule believes that stores are over: the next op's preload follows
/// them.
Table<OpId, OpId> after_stores(const Problem& problem, const PreloadLimits& space) {
  Table<OpId, OpId> result = space.not_before;
  result.resize(static_cast<std::size_t>(problem.op_count()), OpId{0});
  for (const ir::Store& store : stores(problem)) {
    const auto next =
        static_cast<std::size_t>(problem.rank(store.op)) + (problem.is_loaded(store.op) ? 1 : 0);
    if (next < problem.loaded().size()) {
      OpId& first = result[problem.loaded()[next]];
      first = std::max(first, store.op + 1);
    }
  }
  return result;
}

/// When to issue preloads: with less and less look-ahead; beside what stores keep on chip; after
/// stores.
std::vector<Issue> issues(const Problem& problem, const Contender& candidate, Bytes room) {
  const Proposal& proposal = candidate.proposal;
  const std::vector<OpId>& order = preload_order(problem, proposal);
  std::vector<Issue> result;
  for (const std::int64_t unused : tuning::kUnusedParts) {
    PreloadLimits space = proposal.space;
    space.room -= {room.value / tuning::kPartsOfRoom * unused};
    result.push_back(issue(problem, candidate.situation, order, space));
    if (result.back().shortage) {
      result.pop_back();
      break;
    }
    if (!mechanisms().less_ahead) {
      break;
    }
  }
  if (mechanisms().store_retries && !result.empty() && !stores(problem).empty()) {
    Situation held = candidate.situation;
    held.base = with_stores(problem, candidate, result.front().issued_before);
    result.push_back(issue(problem, held, order, proposal.space));
    PreloadLimits space = proposal.space;
    space.not_before = after_stores(problem, space);
    result.push_back(issue(problem, candidate.situation, order, space));
  }
  std::erase_if(result, [](const Issue& one) { return one.shortage.has_value(); });
  return result;
}

/// The trials that take less than `best`, each once, the shortest forecast first.
std::vector<Trial> trials(const Problem& problem, const Contender& candidate, Seconds best,
                          Bytes room) {
  std::vector<Trial> result;
  for (Issue& issued : issues(problem, candidate, room)) {
    const bool known = std::any_of(result.begin(), result.end(), [&](const Trial& other) {
      return other.issued_before == issued.issued_before;
    });
    if (known) {
      continue;
    }
    cost::TimelineResult times =
        timing(problem, candidate.situation, preload_order(problem, candidate.proposal),
               issued.issued_before);
    if (times.total < best) {
      result.push_back(
          {.issued_before = std::move(issued.issued_before), .times = std::move(times)});
    }
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Trial& a, const Trial& b) { return a.times.total < b.times.total; });
  return result;
}

Schedule schedule_of(const Problem& problem, const Contender& candidate,
                     Table<OpId, std::int32_t> issued_before) {
  return {.ops = candidate.proposal.choices,
          .preload_order = preload_order(problem, candidate.proposal),
          .issued_before = std::move(issued_before)};
}

/// The first of some trials that has addresses, and its program.
std::optional<std::pair<std::size_t, program::Program>> first_placed(const Problem& problem,
                                                                     const Contender& candidate,
                                                                     std::span<const Trial> some,
                                                                     Bytes room, int threads) {
  std::vector<std::optional<program::Program>> placed(some.size());
  std::vector<std::atomic<bool>> succeeded(some.size());
  parallel_for_index(some.size(), threads, [&](std::size_t i) {
    const auto unwanted = [&succeeded, i] {
      const auto end = succeeded.begin() + static_cast<std::ptrdiff_t>(i);
      return std::any_of(succeeded.begin(), end,
                         [](const std::atomic<bool>& one) { return one.load(); });
    };
    if (unwanted()) {
      return;
    }
    placed[i] = placed_program(problem, schedule_of(problem, candidate, some[i].issued_before),
                               room, unwanted);
    succeeded[i] = placed[i].has_value();
  });
  for (std::size_t i = 0; i < placed.size(); ++i) {
    if (placed[i]) {
      return std::pair(i, std::move(*placed[i]));
    }
  }
  return std::nullopt;
}

Table<OpId, InPlaceCost> in_place(Problem& problem, const Table<OpId, Choice>& choices) {
  Table<OpId, InPlaceCost> result;
  result.reserve(choices.size());
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    result.push_back(problem.in_place(op, choices));
  }
  return result;
}

}  // namespace

const std::vector<OpId>& preload_order(const Problem& problem, const Proposal& proposal) {
  return proposal.order.empty() ? problem.loaded() : proposal.order;
}

program::Program unplaced_program(const Problem& problem, const Schedule& schedule) {
  program::Program result{
      .ops = {},
      .code = program::issue(problem.graph(), schedule.preload_order, schedule.issued_before),
      .buffers = {}};
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    const Choice& choice = schedule.ops[op];
    const cost::PlanOption& option = problem.option(op, choice);
    result.ops.push_back({.execute = option.plan,
                          .divisor = problem.state(op, choice).divisor,
                          .tree = option.tree,
                          .ring = option.way == partition::CollectiveAlgorithm::Ring});
  }
  result.buffers = program::buffers(problem.graph(), problem.chip(), result.ops, result.code);
  return result;
}

std::optional<program::Program> placed_program(const Problem& problem, const Schedule& schedule,
                                               Bytes room, const program::Unwanted& unwanted) {
  program::Program result = unplaced_program(problem, schedule);
  const std::vector<Bytes> occupancy = program::occupancy(result.buffers, result.code.size());
  if (*std::max_element(occupancy.begin(), occupancy.end()) > room) {
    return std::nullopt;
  }
  auto placed = program::place(std::move(result.buffers), room, unwanted);
  if (!placed) {
    return std::nullopt;
  }
  result.buffers = std::move(*placed);
  return result;
}

std::optional<PlacedCandidate> place(const Problem& problem, const Contender& candidate,
                                     Seconds best, Bytes room, int threads) {
  std::vector<Trial> all = trials(problem, candidate, best, room);
  const std::size_t width = threads == 1 ? 1 : 2;
  for (std::size_t at = 0; at < all.size(); at += width) {
    const std::span<Trial> some(&all[at], std::min(width, all.size() - at));
    if (auto first = first_placed(problem, candidate, some, room, threads)) {
      Trial& trial = some[first->first];
      return PlacedCandidate{.candidate = &candidate,
                             .issued_before = std::move(trial.issued_before),
                             .times = std::move(trial.times),
                             .program = std::move(first->second)};
    }
  }
  return std::nullopt;
}

Found found(Problem& problem, PlacedCandidate placed) {
  const Contender& candidate = *placed.candidate;
  Found result{.schedule = schedule_of(problem, candidate, std::move(placed.issued_before)),
               .in_place = {},
               .program = std::move(placed.program),
               .occupancy = {},
               .times = std::move(placed.times),
               .origin = candidate.policy,
               .raw = {0.0},
               .solved_layers = 0,
               .orders = {}};
  result.occupancy = program::occupancy(result.program.buffers, result.program.code.size());
  result.in_place = in_place(problem, result.schedule.ops);
  return result;
}

void reprice(Problem& problem, Found& found) {
  const Schedule& schedule = found.schedule;
  found.in_place = in_place(problem, schedule.ops);
  found.times = timing(problem, situation(problem, schedule.ops), schedule.preload_order,
                       schedule.issued_before);
}

}  // namespace elk::schedule
