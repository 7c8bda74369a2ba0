#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/watch.hpp"
#include "elk/schedule/improve/sketch.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/timing/allocate.hpp"

namespace elk::schedule {

/// What annealing found.
struct AnnealingResult {
  Arrangement arrangement;
  double seconds;
};

struct AnnealingOptions {
  std::int64_t most;  // work
  std::uint64_t seed;
  Watch* watch = nullptr;
};

/// Changes plans with their preload states, the order of preloads and how far ahead they are
/// issued, the same in every layer, one move at a time: a move that makes the forecast longer is
/// taken with a probability that falls to none as `most` work is done (an op in a forecast is 1).
/// Leaves the best that it met in `sketch`. The same seed gives the same result on any machine,
/// unless it is told to stop.
[[nodiscard]] AnnealingResult anneal(Problem& problem, Sketch& sketch, Arrangement arrangement,
                                     const Contention& contention, const AnnealingOptions& options);

}  // namespace elk::schedule
