#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"

namespace elk::train {

using PipelineStageId = Id<struct PipelineStageKind>;
using ChunkId = Id<struct ChunkKind>;       // of the parts of a stage
using PartId = Id<struct ModelPartKind>;    // of the parts of a model, in order
using MicroId = Id<struct MicroBatchKind>;  // of the micro-batches of a step

/// In which order a stage of a pipeline takes the passes of its micro-batches.
enum class PipelineSchedule : std::uint8_t { GPipe, OneForwardOneBackward, Interleaved };

/// A pass of one micro-batch through one chunk of a stage.
struct PipelinePass {
  bool backward;
  MicroId micro;
  ChunkId chunk;

  friend bool operator==(const PipelinePass&, const PipelinePass&) = default;
};

/// The sizes of a pipeline: chunk c of stage s is part `c * stages + s` of the model.
struct Pipeline {
  PipelineSchedule schedule;
  std::int32_t stages;
  std::int32_t chunks;  // of each stage; 1 unless interleaved
  std::int32_t micros;  // micro-batches of a step; a multiple of `stages` if interleaved
  bool backward;        // whether there are backward passes at all

  [[nodiscard]] std::int32_t parts() const { return stages * chunks; }
  [[nodiscard]] PartId part_of(PipelineStageId stage, ChunkId chunk) const {
    return PartId{(chunk.value * stages) + stage.value};
  }
  [[nodiscard]] PipelineStageId stage_of(PartId part) const {
    return PipelineStageId{part.value % stages};
  }
  [[nodiscard]] ChunkId chunk_of(PartId part) const { return ChunkId{part.value / stages}; }

  friend bool operator==(const Pipeline&, const Pipeline&) = default;
};

/// The passes of one stage in order.
///
/// GPipe: all forward passes, then the backward ones from the last micro-batch to the first (Huang
/// et al., NeurIPS 2019). One forward, one backward: as many forward passes as there are stages
/// behind, then pairs (Narayanan et al., SOSP 2019). Interleaved: pairs again, with forward pass k
/// of chunk `k mod (stages * chunks) / stages`, and the backward passes mirroring the chunks
/// (Narayanan et al., SC 2021). Without backward passes all orders are that of the micro-batches.
[[nodiscard]] std::vector<PipelinePass> passes_of(const Pipeline& pipeline, PipelineStageId stage);

/// Chunks of micro-batches that have gone forward and not yet backward, where most are.
[[nodiscard]] std::int64_t most_in_flight(const std::vector<PipelinePass>& passes);

}  // namespace elk::train
