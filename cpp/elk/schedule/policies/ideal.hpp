#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/cost/forecast.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/schedule.hpp"

namespace elk::schedule {

/// ELK 6.1 `Ideal`, a forecast and no program (design 6.5): preloads in order in their smallest
/// state, what an execute fetches from peers for nothing, and an interconnect and a whole SRAM for
/// each side.
struct Ideal {
  Schedule schedule;
  std::vector<InPlaceCost> in_place;
  cost::TimelineResult times;
};

/// The ideal in which each op takes the plan that is fastest alone.
[[nodiscard]] Ideal fastest_alone(Problem& problem);

struct IdealOptions {
  std::int64_t most = 0;  // work of the search, as of `polish`
  int threads = 1;
};

/// The ideal of the best choices under its own rules: those of `start` and those `found` by
/// policies are timed, and the best of them are changed op by op, as `polish` does, until nothing
/// helps.
[[nodiscard]] Ideal ideal(Problem& problem, const Ideal& start,
                          const std::vector<std::vector<Choice>>& found,
                          const IdealOptions& options);

}  // namespace elk::schedule
