#pragma once

#include <cstdint>
#include <vector>

#include "elk/cost/forecast.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/schedule.hpp"
#include "elk/schedule/timing/evaluate.hpp"

namespace elk::schedule {

/// The option of `choice`, or of each choice, in its smallest preload state, as the ideal takes it.
[[nodiscard]] Choice least_preloaded(const Problem& problem, std::int32_t op, const Choice& choice);
[[nodiscard]] std::vector<Choice> least_preloaded(const Problem& problem,
                                                  std::vector<Choice> choices);

/// Whether the plan of `choice` fits in the ideal's SRAM for executes, and its preload in the
/// other.
[[nodiscard]] bool fits_ideally(const Problem& problem, std::int32_t op, const Choice& choice);

/// Times of a situation under `TimingRules::Ideal`: executes one after another, each when its
/// preload is over; preloads one after another from the start, as far ahead as their own SRAM
/// holds, which is free again when its op has run.
[[nodiscard]] cost::TimelineResult ideal_times(const Problem& problem, const Situation& situation);

}  // namespace elk::schedule
