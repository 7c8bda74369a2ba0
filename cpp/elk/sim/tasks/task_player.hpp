#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/sim/flows/engine.hpp"
#include "elk/sim/play/run.hpp"
#include "elk/sim/tasks/task_graph.hpp"

namespace elk::sim {

/// What every task and every resource did.
struct TasksRun {
  std::vector<Interval<Picoseconds>> tasks;  // of each task, from its turn to its end
  std::vector<Bytes> carried;                // by each resource, times weights
  std::vector<Picoseconds> busy;             // of each resource: with a send on it
  std::vector<Picoseconds> alone;  // of each body that ever had the machine to itself; else -1
};

/// Plays tasks on a machine. At any time the sends under way share its resources as `Engine` says.
/// `exclusive` says of every resource whether it serves one send after another, in the order of
/// asking (`LinkQueues`); of sends that ask at one time, that of the task with the lower id asks
/// first, and of one body that which was added first. Empty: none does.
///
/// A body that has the machine to itself takes as long each time, and is played once.
[[nodiscard]] TasksRun play_tasks(const Machine& machine, const TaskGraph& graph,
                                  std::span<const std::uint8_t> exclusive = {});

}  // namespace elk::sim
