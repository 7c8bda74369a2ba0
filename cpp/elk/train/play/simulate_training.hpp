#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "elk/base/intervals.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/sim/play/run.hpp"
#include "elk/sim/tasks/plain_transfers.hpp"
#include "elk/train/plan/plan_training.hpp"
#include "elk/train/play/training_tasks.hpp"

namespace elk::train {

/// A row of a run.
struct TrainingRow {
  PipelineStageId stage;
  RowKind kind;
  MicroId micro;
  ChunkId chunk;
  Interval<Picoseconds> time;
};

/// A training step, or a batch of a pipeline, as it ran.
struct TrainingRun {
  sim::Fidelity fidelity;
  Picoseconds total;
  std::vector<TrainingRow> rows;
  Table<PipelineStageId, PartTimes> split;                     // of each; sums to `total`
  Table<PipelineStageId, std::array<Bytes, kTimeParts>> sent;  // by each device
  std::vector<sim::LinkRow> links;                             // of flows alone
};

/// Plays a plan on the machine it was made for. `Flows`: all that moves on one machine at once.
/// `Symmetric`: each distinct thing alone, and passes as waits. None: flows where they are few.
/// Exclusive links serve one send after another, and so do memories.
///
/// Throws InvalidInput for another fidelity.
[[nodiscard]] TrainingRun simulate_training(const TrainingPlan& plan, const chip::Chip& chip,
                                            std::optional<sim::Fidelity> fidelity,
                                            sim::Links links);

}  // namespace elk::train
