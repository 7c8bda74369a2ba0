#include "elk/train/pipeline.hpp"

#include <algorithm>

namespace elk::train {
namespace {

/// Forward pass `k` of a stage, or with `backward` the backward pass `k`.
PipelinePass pass_at(const Pipeline& pipeline, std::int32_t k, bool backward) {
  if (pipeline.chunks == 1) {
    return {.backward = backward, .micro = MicroId{k}, .chunk = ChunkId{0}};
  }
  const std::int32_t round = pipeline.stages * pipeline.chunks;
  const std::int32_t chunk = k % round / pipeline.stages;
  return {.backward = backward,
          .micro = MicroId{(k / round * pipeline.stages) + (k % pipeline.stages)},
          .chunk = ChunkId{backward ? pipeline.chunks - 1 - chunk : chunk}};
}

/// Forward passes before the first backward one, but for the one just before it.
std::int32_t warm_up(const Pipeline& pipeline, PipelineStageId stage) {
  const std::int32_t behind = pipeline.stages - stage.value - 1;
  const std::int32_t all = pipeline.micros * pipeline.chunks;
  switch (pipeline.schedule) {
    case PipelineSchedule::GPipe:
      return all;
    case PipelineSchedule::OneForwardOneBackward:
      return std::min(all, behind);
    case PipelineSchedule::Interleaved:
      break;
  }
  return pipeline.micros == pipeline.stages
             ? all
             : std::min(all, (2 * behind) + ((pipeline.chunks - 1) * pipeline.stages));
}

}  // namespace

std::vector<PipelinePass> passes_of(const Pipeline& pipeline, PipelineStageId stage) {
  const std::int32_t all = pipeline.micros * pipeline.chunks;
  const std::int32_t first = pipeline.backward ? warm_up(pipeline, stage) : all;
  std::vector<PipelinePass> passes;
  passes.reserve(subscript(std::int64_t{2} * all));
  for (std::int32_t k = 0; k < first; ++k) {
    passes.push_back(pass_at(pipeline, k, false));
  }
  for (std::int32_t k = 0; k < all && pipeline.backward; ++k) {
    if (first + k < all) {
      passes.push_back(pass_at(pipeline, first + k, false));
    }
    const bool reversed = pipeline.schedule == PipelineSchedule::GPipe;
    passes.push_back(pass_at(pipeline, reversed ? all - 1 - k : k, true));
  }
  return passes;
}

std::int64_t most_in_flight(const std::vector<PipelinePass>& passes) {
  std::int64_t now = 0;
  std::int64_t most = 0;
  for (const PipelinePass& pass : passes) {
    now += pass.backward ? -1 : 1;
    most = std::max(most, now);
  }
  return most;
}

}  // namespace elk::train
