#pragma once

#include "elk/base/units.hpp"
#include "elk/cost/forecast.hpp"
#include "elk/schedule/problem.hpp"
#include "elk/schedule/schedule.hpp"

namespace elk::schedule {

/// ELK 6.1 `Ideal`, a forecast and no program (design 6.5): each op's fastest plan alone, preloads
/// in order in their smallest state, and an interconnect and a whole SRAM for each side.
struct Ideal {
  Schedule schedule;
  std::vector<InPlace> in_place;
  cost::TimelineResult times;
};
[[nodiscard]] Ideal ideal(Problem& problem);

}  // namespace elk::schedule
