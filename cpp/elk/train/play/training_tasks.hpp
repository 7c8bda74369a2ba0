#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/sim/network/machine_network.hpp"
#include "elk/sim/tasks/task_graph.hpp"
#include "elk/train/plan/plan_training.hpp"
#include "elk/train/play/stage_pieces.hpp"

namespace elk::train {

/// What a stage did, as tables and timelines show it.
enum class RowKind : std::uint8_t { Forward, Backward, Update, SendActivations, SendGradients };

/// A pass, a hand-over or the update: tasks [first, last] of one stream.
struct TaskRow {
  PipelineStageId stage;
  RowKind kind;
  MicroId micro;  // none: of all
  ChunkId chunk;
  sim::TaskId first;
  sim::TaskId last;
};

/// What a task on the stream of a stage is for.
struct TaskUse {
  PipelineStageId stage;  // none: it is beside the stream of a stage
  TimePart part;
  Picoseconds compute;  // of a kernel; what is beyond that is memory
  std::int32_t known;   // which of `TrainingTasks::known` says what it divides into; -1: none
};

/// A training step as tasks: a stream for each stage, and others beside it for what overlaps.
struct TrainingTasks {
  sim::TaskGraph graph;
  std::vector<TaskUse> uses;  // of each task
  std::vector<PartTimes> known;
  std::vector<TaskRow> rows;
  Table<PipelineStageId, std::array<Bytes, kTimeParts>> sent;  // by each device
};

/// Lengths of bodies, each with the machine to itself.
using AloneTimes = std::vector<Picoseconds>;

/// Makes the pieces of a plan, and lowers them into tasks.
///
/// A stage is one stream: its devices do the same, each on its part of the data (virtual tile
/// aggregation). A hand-over occupies the sender and the gathering of it the receiver, unless they
/// overlap; gradients of the last micro-batch move when all are there, or a unit at a time beside
/// the pass.
class TrainingLowering {
 public:
  TrainingLowering(const TrainingPlan& plan, const chip::Chip& chip,
                   const sim::MachineNetwork& network);

  /// Bodies of all pieces. Those of one task graph are numbered alike in both kinds of tasks.
  [[nodiscard]] const sim::TaskGraph& bodies() const { return out_.graph; }
  /// How many tasks there are if each piece is played.
  [[nodiscard]] std::int64_t pieces() const;

  /// Every piece as a task, and what nobody can hold up as waits; with lengths of bodies `alone`
  /// every pass as one wait. The last call: tasks take the bodies with them.
  [[nodiscard]] TrainingTasks lower(const AloneTimes* alone);

 private:
  const TrainingPlan& plan_;
  TrainingTasks out_;  // bodies, until it is lowered
  Table<PipelineStageId, StagePieces> pieces_;
};

}  // namespace elk::train
