#pragma once

#include <cstdint>
#include <vector>

#include "elk/cost/forecast.hpp"
#include "elk/program/program.hpp"
#include "elk/schedule/problem.hpp"
#include "elk/schedule/schedule.hpp"

namespace elk::schedule {

/// A schedule as a placed program, with its forecast.
struct Found {
  Schedule schedule;
  std::vector<InPlace> in_place;
  program::Program program;
  std::vector<Bytes> occupancy;
  cost::TimelineResult times;
  Policy origin;               // the policy whose schedule this is
  Seconds raw;                 // of the asked policy's own schedule
  std::int32_t solved_layers;  // periods that the induction solved itself; 0: it did not run
};

/// The best schedule of `policy` and of every baseline below it (design 6.6). Throws Infeasible
/// with the op that does not fit, the limit, and by how many bytes.
[[nodiscard]] Found search(Problem& problem, Policy policy, int threads);

}  // namespace elk::schedule
