#include "elk/schedule/placement.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "elk/base/parallel.hpp"

namespace elk::schedule {
namespace {

/// A candidate with the look-ahead under which it is to be placed.
struct Trial {
  std::vector<std::int32_t> issued_before;
  cost::TimelineResult times;
};

/// Bytes in use at each execute where tensors that are written back rest until the store is known
/// to be over: at the execute of the first preload issued after it.
std::vector<Bytes> with_stores(const Problem& problem, const Contender& candidate,
                               const std::vector<std::int32_t>& issued_before) {
  std::vector<Bytes> base(candidate.situation.base);
  const std::vector<std::int32_t>& order = preload_order(problem, candidate.proposal);
  for (const ir::Store& store : stores(problem)) {
    const auto op = static_cast<std::size_t>(store.op);
    const auto next = static_cast<std::size_t>(issued_before[op]);
    const std::int32_t over = next < order.size() ? order[next] : problem.op_count() - 1;
    for (std::int32_t at = last_use(problem, static_cast<std::size_t>(store.tensor)) + 1;
         at <= over; ++at) {
      base[static_cast<std::size_t>(at)] += candidate.situation.rest[op];
    }
  }
  return base;
}

/// No earlier than the capacity rule believes that stores are over: the next op's preload follows
/// them.
std::vector<std::int32_t> after_stores(const Problem& problem, const Space& space) {
  std::vector<std::int32_t> result = space.not_before;
  result.resize(static_cast<std::size_t>(problem.op_count()), 0);
  for (const ir::Store& store : stores(problem)) {
    const auto next =
        static_cast<std::size_t>(problem.rank(store.op)) + (problem.is_loaded(store.op) ? 1 : 0);
    if (next < problem.loaded().size()) {
      std::int32_t& first = result[static_cast<std::size_t>(problem.loaded()[next])];
      first = std::max(first, store.op + 1);
    }
  }
  return result;
}

/// When to issue preloads: with less and less look-ahead; beside what stores keep on chip; after
/// stores.
std::vector<Issue> issues(const Problem& problem, const Contender& candidate, Bytes room) {
  const Proposal& proposal = candidate.proposal;
  std::vector<Issue> result;
  for (const std::int64_t unused : kUnusedParts) {
    Space space = proposal.space;
    space.room -= {room.value / kPartsOfRoom * unused};
    result.push_back(issue(problem, proposal, candidate.situation, space));
    if (result.back().shortage) {
      result.pop_back();
      break;
    }
  }
  if (!result.empty() && !stores(problem).empty()) {
    Situation held = candidate.situation;
    held.base = with_stores(problem, candidate, result.front().issued_before);
    result.push_back(issue(problem, proposal, held, proposal.space));
    Space space = proposal.space;
    space.not_before = after_stores(problem, space);
    result.push_back(issue(problem, proposal, candidate.situation, space));
  }
  std::erase_if(result, [](const Issue& one) { return one.shortage.has_value(); });
  return result;
}

/// Those that are better than `best`, each once, the shortest forecast first.
std::vector<Trial> trials(const Problem& problem, const Contender& candidate,
                          const std::optional<Found>& best, Bytes room) {
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
    if (!best || times.total < best->times.total) {
      result.push_back(
          {.issued_before = std::move(issued.issued_before), .times = std::move(times)});
    }
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Trial& a, const Trial& b) { return a.times.total < b.times.total; });
  return result;
}

Schedule schedule_of(const Problem& problem, const Contender& candidate, const Trial& trial) {
  return {.ops = candidate.proposal.choices,
          .preload_order = preload_order(problem, candidate.proposal),
          .issued_before = trial.issued_before};
}

Found describe(Problem& problem, const Contender& candidate, const Trial& trial,
               program::Program program) {
  Found found{.schedule = schedule_of(problem, candidate, trial),
              .in_place = {},
              .program = std::move(program),
              .occupancy = {},
              .times = trial.times,
              .origin = candidate.policy,
              .raw = {0.0},
              .solved_layers = 0,
              .orders = {}};
  found.occupancy = program::occupancy(found.program.buffers, found.program.code.size());
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    found.in_place.push_back(problem.in_place(op, found.schedule.ops));
  }
  return found;
}

}  // namespace

const std::vector<std::int32_t>& preload_order(const Problem& problem, const Proposal& proposal) {
  return proposal.order.empty() ? problem.loaded() : proposal.order;
}

Issue issue(const Problem& problem, const Proposal& proposal, const Situation& situation,
            const Space& space) {
  if (proposal.order.empty()) {
    return issue_early(problem, situation, problem.loaded(), space);
  }
  std::vector<std::int32_t> earliest = space.not_before;
  earliest.resize(situation.base.size(), 0);
  for (const std::int32_t op : proposal.order) {
    std::int32_t& first = earliest[static_cast<std::size_t>(op)];
    first = std::max(first, problem.not_before(op));
  }
  return issue_in_order(situation.base, situation.piece, proposal.order, earliest, space.room);
}

program::Program unplaced_program(const Problem& problem, const Schedule& schedule) {
  program::Program result{
      .ops = {},
      .code = program::issue(problem.graph(), schedule.preload_order, schedule.issued_before),
      .buffers = {}};
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    const Choice& choice = schedule.ops[static_cast<std::size_t>(op)];
    const cost::PlanOption& option = problem.option(op, choice);
    result.ops.push_back({.execute = option.plan,
                          .divisor = problem.state(op, choice).divisor,
                          .tree = option.tree,
                          .ring = option.way == partition::Way::Ring});
  }
  result.buffers = program::buffers(problem.graph(), problem.chip(), result.ops, result.code);
  return result;
}

std::optional<program::Program> placed_program(const Problem& problem, const Schedule& schedule,
                                               Bytes room) {
  program::Program result = unplaced_program(problem, schedule);
  const std::vector<Bytes> occupancy = program::occupancy(result.buffers, result.code.size());
  if (*std::max_element(occupancy.begin(), occupancy.end()) > room) {
    return std::nullopt;
  }
  auto placed = program::place(std::move(result.buffers), room);
  if (!placed) {
    return std::nullopt;
  }
  result.buffers = std::move(*placed);
  return result;
}

std::optional<Found> place(Problem& problem, const Contender& candidate,
                           const std::optional<Found>& best, Bytes room, int threads) {
  const std::vector<Trial> all = trials(problem, candidate, best, room);
  const std::size_t width = threads == 1 ? 1 : 2;
  for (std::size_t at = 0; at < all.size(); at += width) {
    const std::span<const Trial> some(&all[at], std::min(width, all.size() - at));
    auto placed = parallel_map(
        some,
        [&](const Trial& trial) {
          return placed_program(problem, schedule_of(problem, candidate, trial), room);
        },
        threads);
    for (std::size_t i = 0; i < placed.size(); ++i) {
      if (placed[i]) {
        return describe(problem, candidate, some[i], std::move(*placed[i]));
      }
    }
  }
  return std::nullopt;
}

}  // namespace elk::schedule
