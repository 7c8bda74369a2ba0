#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/program/code.hpp"
#include "elk/sim/run.hpp"

namespace elk::sim {

/// How long calls take on one core that does nothing else.
struct TileTimes {
  /// Of the kernel of an op on a sub-task of these axis sizes.
  std::function<Picoseconds(std::int32_t op, std::span<const std::int64_t> size)> sub_task;
  /// Of adding up `parts` partial results of `elements` each.
  std::function<Picoseconds(std::int32_t op, std::int64_t parts, std::int64_t elements)> add;
  /// Of copying `slices` runs of `run` elements of `bits` each.
  std::function<Picoseconds(std::int32_t op, std::int64_t slices, std::int64_t run,
                            std::int64_t bits)>
      copy;
};

/// Runs a program by the rules of design 7 on every core, link and channel (`Core`), or with equal
/// ones taken together (`Symmetric`). It knows of the plan what it cuts and where it puts things,
/// and nothing of what the planner thinks that takes.
///
/// Throws InvalidInput for a program that waits for a preload it never issues.
[[nodiscard]] Run simulate(const ir::Graph& graph, const chip::Chip& chip,
                           const program::Program& program, const TileTimes& tiles,
                           Fidelity fidelity);

struct Simulation {
  Fidelity fidelity;
  int threads;
};

/// The same of several programs of one graph: what their executes have in common is worked out
/// once. `tiles` makes times for the use of one thread.
[[nodiscard]] std::vector<Run> simulate(const ir::Graph& graph, const chip::Chip& chip,
                                        std::span<const program::Program* const> programs,
                                        const std::function<TileTimes()>& tiles,
                                        const Simulation& how);

}  // namespace elk::sim
