#pragma once

#include <span>

#include "elk/base/units.hpp"
#include "elk/sim/play/player.hpp"
#include "elk/sim/play/run.hpp"

namespace elk::sim {

/// When something took place, and how long it would have with nothing else about.
struct FlowSpan {
  Interval<Picoseconds> time;
  Picoseconds alone;
};

/// How a run of `total` divides between executes and loads, each in order and one at a time. Of a
/// time in which both are under way, the share by which the slower one of the two is held up, taken
/// even over all of its stretch, is interconnect; so is what neither of them takes.
[[nodiscard]] RunBreakdown split_of(Picoseconds total, std::span<const FlowSpan> executes,
                                    std::span<const FlowSpan> loads);

}  // namespace elk::sim
