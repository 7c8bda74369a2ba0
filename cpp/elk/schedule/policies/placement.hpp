#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/cost/forecast.hpp"
#include "elk/schedule/policies/found.hpp"
#include "elk/schedule/policies/registry.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/timing/evaluate.hpp"
#include "elk/schedule/timing/proposal.hpp"

namespace elk::schedule {

/// A proposal with its forecast, before placement.
struct Contender {
  Policy policy;
  Proposal proposal;
  Situation situation;
  Issue issue;
  cost::TimelineResult times;
};

/// The order of preloads that a proposal has.
[[nodiscard]] const std::vector<OpId>& preload_order(const Problem& problem,
                                                     const Proposal& proposal);

/// The program of a schedule, its buffers without addresses.
[[nodiscard]] program::Program unplaced_program(const Problem& problem, const Schedule& schedule);

/// The program of a schedule, its buffers with addresses; none if it does not fit in `room` bytes
/// of a core, or is not wanted any more.
[[nodiscard]] std::optional<program::Program> placed_program(
    const Problem& problem, const Schedule& schedule, Bytes room,
    const program::Unwanted& unwanted = {});

/// A candidate with addresses.
struct PlacedCandidate {
  const Contender* candidate;
  Table<OpId, std::int32_t> issued_before;
  cost::TimelineResult times;
  program::Program program;
};

/// Places the candidate, with less look-ahead each time that this fails, as long as its forecast is
/// below `best`. Where a thread is free for it, two attempts run side by side: the first that
/// succeeds counts.
[[nodiscard]] std::optional<PlacedCandidate> place(const Problem& problem,
                                                   const Contender& candidate, Seconds best,
                                                   Bytes room, int threads);

[[nodiscard]] Found found(Problem& problem, PlacedCandidate placed);

/// Forecasts what was found anew, at what the problem now says of its costs.
void reprice(Problem& problem, Found& found);

}  // namespace elk::schedule
