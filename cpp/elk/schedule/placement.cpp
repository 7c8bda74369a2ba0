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

/// With less and less look-ahead, as long as it changes anything and is better than `best`.
std::vector<Trial> trials(const Problem& problem, const Candidate& candidate,
                          const std::optional<Found>& best, Bytes room) {
  std::vector<Trial> result;
  for (const std::int64_t unused : kUnusedParts) {
    Space space = candidate.proposal.space;
    space.room -= {room.value / kPartsOfRoom * unused};
    Issue issued = issue(problem, candidate.proposal, candidate.situation, space);
    if (issued.shortage) {
      break;
    }
    if (!result.empty() && issued.issued_before == result.back().issued_before) {
      continue;
    }
    cost::TimelineResult times =
        timing(problem, candidate.situation, preload_order(problem, candidate.proposal),
               issued.issued_before);
    if (best && times.total >= best->times.total) {
      break;
    }
    result.push_back({.issued_before = std::move(issued.issued_before), .times = std::move(times)});
  }
  return result;
}

std::optional<program::Program> placed_program(const Problem& problem, const Candidate& candidate,
                                               const Trial& trial, Bytes room) {
  program::Program result{
      .ops = {},
      .code = program::issue(problem.graph(), preload_order(problem, candidate.proposal),
                             trial.issued_before),
      .buffers = {}};
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    const Choice& choice = candidate.proposal.choices[static_cast<std::size_t>(op)];
    result.ops.push_back({.execute = problem.option(op, choice).plan,
                          .divisor = problem.state(op, choice).divisor,
                          .tree = problem.option(op, choice).tree,
                          .ring = problem.option(op, choice).way == partition::Way::Ring});
  }
  result.buffers = program::buffers(problem.graph(), problem.chip(), result.ops, result.code);
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

Found describe(Problem& problem, const Candidate& candidate, const Trial& trial,
               program::Program program) {
  const std::vector<Choice>& choices = candidate.proposal.choices;
  Found found{.schedule = {.ops = choices,
                           .preload_order = preload_order(problem, candidate.proposal),
                           .issued_before = trial.issued_before},
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
    found.in_place.push_back(problem.in_place(op, choices));
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

std::optional<Found> place(Problem& problem, const Candidate& candidate,
                           const std::optional<Found>& best, Bytes room, int threads) {
  const std::vector<Trial> all = trials(problem, candidate, best, room);
  const std::size_t width = threads == 1 ? 1 : 2;
  for (std::size_t at = 0; at < all.size(); at += width) {
    const std::span<const Trial> some(&all[at], std::min(width, all.size() - at));
    auto placed = parallel_map(
        some, [&](const Trial& trial) { return placed_program(problem, candidate, trial, room); },
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
