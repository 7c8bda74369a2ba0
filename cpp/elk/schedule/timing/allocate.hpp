#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/units.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/schedule.hpp"

namespace elk::schedule {

/// How much dearer work is while preloads stream beside it, on average over a model.
struct Contention {
  double share;       // of the port that preloads take
  double drag;        // compute lost for each share of the port
  double late = 1.0;  // how much of a slower preload delays the model: none where executes bind

  [[nodiscard]] double seconds(const cost::ExecuteCost& work) const;
};

/// A plan of an op with the preload state it starts from and what both cost under contention.
struct StaircaseStep {
  Choice choice;
  double cost;  // seconds: the execute, and what its preload takes beyond the least possible
  Bytes space;  // of the op during its execute, or what it keeps for ever
};

/// All plans of a front, cheapest first.
using StaircaseSteps = std::vector<StaircaseStep>;
[[nodiscard]] StaircaseSteps steps(const cost::Front& front, const Contention& contention);

/// The plans of one front that are worth space: cost rises and space falls from step to step.
using Staircase = StaircaseSteps;
[[nodiscard]] Staircase staircase(StaircaseSteps steps);
[[nodiscard]] Staircase staircase(const cost::Front& front, const Contention& contention);

/// Seconds that state `k` of an option adds: fetching from peers, and a slower preload.
[[nodiscard]] double state_cost(const cost::PlanOption& option, std::size_t k,
                                const Contention& contention);

/// An op that waits on chip for its execute, with the state its preload is in.
struct WaitingOp {
  OpId op;
  Choice choice;
};

/// SRAM shared between an execute and the preloads that wait during it (design 6.2).
struct Allocation {
  Choice choice;                     // of the op that executes
  std::vector<WaitingOp> residents;  // with their states, lowered where needed
  double added;                      // seconds that lowering the residents' states adds
  bool fits;
  std::int64_t work;  // moves that were compared
};

/// Starts from the fastest plan and the states the residents are in, and takes the step that frees
/// most bytes for each second it adds until `room` holds everything (ELK 4.3).
[[nodiscard]] Allocation allocate(const Problem& problem, const Staircase& stairs,
                                  std::vector<WaitingOp> residents, Bytes room,
                                  const Contention& contention);

}  // namespace elk::schedule
