#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/timing/allocate.hpp"
#include "elk/schedule/timing/evaluate.hpp"
#include "elk/schedule/timing/proposal.hpp"

namespace elk::schedule {

/// Something else than time to reach.
struct Goal {
  /// Of choices whose forecast takes so long; less is better.
  std::function<double(Seconds, const std::vector<Choice>&)> worth;
  std::vector<std::vector<Choice>> choices;  // of each front, to be tried beside the likely ones
};

struct PolishingOptions {
  std::int64_t most;  // work
  int threads;
  const Goal* goal = nullptr;  // none: the shortest time
  TimingRules rules =
      TimingRules::Chip;  // Under the ideal's, preloads stay in their smallest state.
};

/// Changes one op after another, the same in every layer, to the plan and preload state with which
/// the forecast of the whole model is shortest, alone or with readers that follow its layout, until
/// no such change helps or `most` work is done: an op in a forecast is 1. What the proposal was
/// made by (averages over a model, ops without their neighbours) need not hold for the choices it
/// led to; the forecast does. Under the ideal's rules, its times stand for the forecast. Tells the
/// work done.
std::int64_t polish(Problem& problem, Proposal& proposal, const Contention& contention,
                    const PolishingOptions& options);

}  // namespace elk::schedule
