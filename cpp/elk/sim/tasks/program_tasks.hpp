#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/program/code/code.hpp"
#include "elk/program/expand/expander.hpp"
#include "elk/sim/play/call_times.hpp"
#include "elk/sim/play/executions.hpp"
#include "elk/sim/play/work.hpp"
#include "elk/sim/tasks/stage_bodies.hpp"
#include "elk/sim/tasks/task_graph.hpp"

namespace elk::sim {

/// An execute: a wait of no time, in which its turn comes and its preload is over, then a task for
/// each of its stages.
struct ExecuteTasks {
  std::int32_t op;
  std::int32_t execution;
  ExecutedOnce executed;
  TaskId turn;                    // the tasks of its stages follow it
  std::optional<TaskId> last;     // of the execute before
  std::optional<TaskId> preload;  // what the execute waits for
  std::size_t issued;             // preloads and stores before it
};

/// A preload of an op, or a store of a tensor.
struct LoadingTask {
  program::Opcode opcode;
  std::int32_t subject;
  DemandOnce demand;
  TaskId task;
};

/// A program as tasks: executes on the stream of the cores, preloads and stores on that of the HBM.
struct ProgramTasks {
  TaskGraph graph;
  StreamId cores;
  StreamId memory;
  std::vector<ExecuteTasks> executes;
  std::vector<LoadingTask> loads;
};

/// Spells a program out (design 7). A preload or store is issued when the execute before it in the
/// program is over; it pays the latency of the HBM unless it follows another without a break. A
/// stage begins with its synchronisation, and is one task over all cores.
///
/// Throws InvalidInput for a program that waits for a preload it never issues.
class ProgramLowering {
 public:
  ProgramLowering(const ir::Graph& graph, const chip::Chip& chip, const program::Program& program,
                  const CallTimes& tiles);

  [[nodiscard]] ProgramTasks lower();

  [[nodiscard]] const MachineNetwork& network() const { return demands_.network(); }
  [[nodiscard]] std::size_t executions() const { return lowered_.size(); }

 private:
  /// What an execution asks of every resource, and the bodies of its stages.
  struct ExecuteLowering {
    ExecutedOnce executed;
    std::vector<BodyId> bodies;  // of each stage
  };
  struct LoadingLowering {
    DemandOnce demand;
    BodyId body;
  };

  void preload(std::int32_t op);
  void store(std::int32_t tensor);
  void execute(std::int32_t op);
  const ExecuteLowering& lowered(std::int32_t op);
  LoadingLowering load(const program::Loading& loading);
  TaskId issue(program::Opcode opcode, std::int32_t subject, const LoadingLowering& load);

  const ir::Graph& graph_;
  const chip::Chip& chip_;
  const program::Program& program_;
  program::Expander expander_;
  Demands demands_;
  StageLowering works_;
  StageBodies bodies_;
  ProgramTasks out_;
  std::vector<std::optional<ExecuteLowering>> lowered_;  // of each execution
  std::map<std::int32_t, LoadingLowering> preloads_;     // of each distinct one
  std::map<std::int32_t, LoadingLowering> stores_;
  std::vector<std::optional<TaskId>> preload_of_;  // of each op, once issued
  std::optional<TaskId> last_;                     // of the execute before
};

}  // namespace elk::sim
