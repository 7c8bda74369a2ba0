#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/schedule.hpp"
#include "elk/schedule/timing/allocate.hpp"

namespace elk::schedule {

/// What backward induction found.
struct InductionResult {
  std::vector<Choice> choices;
  std::int32_t solved_layers;  // periods solved before the state repeated
};

/// From the last op to the first, the preload number that ends soonest counted from the end of the
/// model, with the SRAM allocated between the execute and the preloads that wait (design 6.1, 6.2;
/// ELK 4.2). Preloads go in execution order. Time is counted back from the end in picoseconds, so
/// that the state of two layers can be compared exactly and the rest copied (design 6.7).
[[nodiscard]] InductionResult induce(const Problem& problem, const Contention& contention,
                                     Bytes room);

/// The average share of the port that preloads take when each op runs at its cheapest.
[[nodiscard]] Contention contention(const Problem& problem);

}  // namespace elk::schedule
