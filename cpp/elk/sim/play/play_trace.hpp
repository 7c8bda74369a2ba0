#pragma once

#include <cstddef>
#include <functional>

#include "elk/base/intervals.hpp"
#include "elk/sim/play/player.hpp"
#include "elk/sim/play/run.hpp"
#include "elk/sim/play/trace.hpp"
#include "elk/sim/play/work.hpp"

namespace elk::sim {

/// Who looks on while a trace is played: at every time in which nothing changes its pace, and at
/// every stage once it is over. `step` is the execute that a stage is of; null between executes.
struct Onlooker {
  std::function<void(const Stretch&, const TraceStep* step, const Stage*)> stretch = {};
  std::function<void(const TraceStep&, const Stage&, Interval<Picoseconds>)> stage = {};
};

/// Plays a trace to its end. Its run tells of what began in it or was still under way; what is not
/// over where the trace breaks off ends there.
[[nodiscard]] Run play(const Trace& trace, const Onlooker& onlooker = {});

/// How the machine stands before instruction number `step` of a trace.
[[nodiscard]] PlayState state_before(const Trace& trace, std::size_t step);

}  // namespace elk::sim
