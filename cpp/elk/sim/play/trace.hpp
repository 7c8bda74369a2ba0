#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/program/code/code.hpp"
#include "elk/sim/flows/engine.hpp"
#include "elk/sim/play/demand.hpp"
#include "elk/sim/play/executions.hpp"

namespace elk::sim {

/// What preloads or stores may ask, and one of them in a run.
using LoadId = Id<struct LoadKind>;
using JobId = Id<struct JobKind>;

/// What a player has to know of the machine besides what demands ask of its resources.
struct PlayedMachine {
  std::size_t resources;    // as many as demands tell apart
  Picoseconds hbm_latency;  // of the first byte, after the HBM was idle
  Refresh refresh;
};

/// One preload or store: an entry of the queue that both share.
struct QueueEntry {
  program::Instruction instruction;
  LoadId load;  // what it asks
  Picoseconds issued{0};
  Picoseconds begin{-1};     // at the head of the queue; -1: not yet
  Picoseconds first{-1};     // when its first byte arrives
  Picoseconds end{-1};       // -1: not yet
  Picoseconds refreshed{0};  // from the first byte on, while the HBM stood still
  Picoseconds reached{-1};   // an execute, or the program's end, waits for it; -1: not yet
};

/// How a machine stands between two instructions.
struct PlayState {
  Picoseconds now{0};
  Table<JobId, QueueEntry> jobs;  // issued so far, in order: those that are over, then the others
  Wide left{0};                   // grains of the first that is not over, at the HBM
  Picoseconds idle_since{-1};     // when the HBM last fell idle; -1: it was never busy
};

/// One instruction of a trace.
struct TraceStep {
  program::Instruction instruction;
  LoadId load = LoadId::none;  // of a preload or store; none: it moves nothing
  JobId waits = JobId::none;   // of an execute: its preload, counted with those before the trace
  ExecutionId execution = ExecutionId::none;  // of an execute
  bool matrix = false;                        // whether its op is a product or a convolution
};

/// What a player plays: a program as what its instructions ask of a machine of some fidelity. It
/// says all by itself: no graph, chip or tile model is needed to play it again.
struct Trace {
  Fidelity fidelity;
  PlayedMachine machine;
  Table<LoadId, DemandOnce> loads;
  Table<ExecutionId, ExecutedOnce> executions;
  std::vector<TraceStep> steps;
  PlayState start;
  bool ends;        // with the program, which waits for its stores
  std::size_t ops;  // of the program
};

}  // namespace elk::sim
