#pragma once

#include <cstdint>
#include <vector>

#include "elk/sim/flows/engine.hpp"
#include "elk/sim/tasks/task_graph.hpp"
#include "elk/sim/tasks/task_player.hpp"

namespace elk::sim {

/// Tasks on a machine with one resource for each class of equal ones: a body has one send for each
/// class of equal sends, and one computation for each class of equal computations. Streams, tasks
/// and the order of bodies are those of the whole graph.
struct FoldedTasks {
  Machine machine;
  TaskGraph graph;
  std::vector<std::int32_t> resource_class;  // of each resource of the whole machine

  /// What every resource of the whole machine did, from what its class did.
  [[nodiscard]] TasksRun unfold(TasksRun folded) const;
};

/// Folds what is equal (`fold`), over all bodies together, so that shared links give every task of
/// the folded graph the times of the whole one, to the picosecond. It is not for exclusive links:
/// those tell equal sends apart by their ids.
[[nodiscard]] FoldedTasks fold_tasks(const Machine& machine, const TaskGraph& graph);

}  // namespace elk::sim
