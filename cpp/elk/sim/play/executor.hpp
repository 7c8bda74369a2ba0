#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/program/code/code.hpp"
#include "elk/sim/play/call_times.hpp"
#include "elk/sim/play/executions.hpp"
#include "elk/sim/play/run.hpp"
#include "elk/sim/play/trace.hpp"

namespace elk::sim {

/// Runs a program by the rules of design 7 on every core, link and channel (`Core`), or with equal
/// ones taken together (`Symmetric`). It knows of the plan what it cuts and where it puts things,
/// and nothing of what the planner thinks that takes.
///
/// Throws InvalidInput for a program that waits for a preload it never issues.
[[nodiscard]] Run simulate(const ir::Graph& graph, const chip::Chip& chip,
                           const program::Program& program, const CallTimes& tiles,
                           Fidelity fidelity);

struct Simulation {
  Fidelity fidelity;
  int threads;
  Executions* kept = nullptr;  // what executions are found to do, and left for other calls
  // Keys of all of the chip that executions depend on, and preloads and stores.
  std::string machine = {};
  std::string memory = {};
};

/// What `simulate` plays.
[[nodiscard]] Trace record(const ir::Graph& graph, const chip::Chip& chip,
                           const program::Program& program, const CallTimes& tiles,
                           const Simulation& how);

/// The runs of several programs of one graph: what their executes have in common is worked out
/// once. `tiles` makes times for the use of one thread.
[[nodiscard]] std::vector<Run> simulate(const ir::Graph& graph, const chip::Chip& chip,
                                        std::span<const program::Program* const> programs,
                                        const std::function<CallTimes()>& tiles,
                                        const Simulation& how);

}  // namespace elk::sim
