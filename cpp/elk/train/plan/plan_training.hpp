#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/tile/tile.hpp"
#include "elk/train/pipeline.hpp"
#include "elk/train/plan/device_times.hpp"
#include "elk/train/plan/devices.hpp"
#include "elk/train/strategy.hpp"
#include "elk/train/work/work.hpp"

namespace elk::train {

/// What one device of a stage keeps at most, by kind.
struct StageMemory {
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;    // the state of the optimizer
  Bytes activations;  // saved for the backward passes of all micro-batches in flight
  Bytes working;      // a layer that is made again, weights that are gathered
  Bytes capacity;

  [[nodiscard]] Bytes total() const {
    return weights + gradients + optimizer + activations + working;
  }
};

/// A unit of the model on its stage.
struct UnitPlan {
  std::vector<WorkStep> forward;
  std::vector<WorkStep> backward;
  std::vector<OpId> ops;
  bool layer;
  std::int64_t parameters;         // of one device
  Bytes weights;                   // bytes of these
  std::map<GroupCut, Bytes> sums;  // weights whose gradients are sums over a cut
};

/// What a device hands to its peer on another stage, of one micro-batch.
struct HandedBytes {
  Bytes whole;  // tensors of which each device needs all
  Bytes parts;  // of tensors that are cut alike
};

/// What a part of the model hands to the next, and gets back.
struct StageHandover {
  HandedBytes activations;
  HandedBytes gradients;
};

/// A chunk of a stage.
struct PartPlan {
  std::vector<UnitPlan> units;
  Bytes saved;  // of one micro-batch in flight
  Bytes input;  // what the first part reads from memory, of the graph's inputs
  StageHandover handed;
};

struct StagePlan {
  StageDevices devices;
  Table<ChunkId, PartPlan> chunks;
  std::int64_t in_flight;  // chunks of micro-batches, at most
  bool recompute;
  StageMemory memory;
  SramUse sram;
};

/// A model that trains, or runs as a pipeline, on a machine.
struct TrainingPlan {
  Strategy strategy;
  Pipeline pipeline;
  Table<PipelineStageId, StagePlan> stages;
  std::optional<Gpu> gpu;  // absent: devices are cores, with the times of their tile model
  double product_flops;    // of the forward pass of one micro-batch, whole model
  double repeated_flops;   // products that the backward pass computes again
};

/// What is to be trained, and on what.
struct TrainingJob {
  const ir::Graph& graph;        // of one micro-batch
  const chip::Chip& chip;        // of a cluster of GPUs: nodes are chips, and GPUs cores
  const tile::TileModel* tiles;  // of cores
  std::optional<Gpu> gpu;
  Strategy strategy;
  std::int64_t batch;
};

/// Cuts a model over the devices of a machine, and finds what each does and keeps.
///
/// Throws InvalidInput for a strategy that does not suit model and machine, and Infeasible, with
/// the stage and the bytes by kind, for one that memory does not hold.
[[nodiscard]] TrainingPlan plan_training(const TrainingJob& job);

/// The time of a kernel on a device of a plan, with nobody else about.
[[nodiscard]] Picoseconds kernel_time(const TrainingPlan& plan, const DeviceKernel& kernel);

}  // namespace elk::train
