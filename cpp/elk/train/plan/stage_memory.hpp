#pragma once

#include <vector>

#include "elk/train/plan/plan_training.hpp"

namespace elk::train {

/// Bytes of each parameter besides the weight: of its gradient, and of the optimizer's state.
struct StateBytes {
  std::int64_t weight;
  std::int64_t gradient;
  std::int64_t optimizer;
};
/// Weights of less than four bytes have a copy of four beside them; Adam keeps two moments of four.
[[nodiscard]] StateBytes state_bytes(Optimizer optimizer, const UnitPlan& unit);

/// What a device of a stage keeps at most, ZeRO (Rajbhandari et al. 2020) sharing state, gradients
/// and weights over replicas. `full_layer`: what the largest layer saves if nothing is made again.
[[nodiscard]] StageMemory stage_memory(const Strategy& strategy, const StagePlan& stage,
                                       const std::vector<PipelinePass>& passes, Bytes full_layer);

/// What the updates of a stage read and write on each device.
[[nodiscard]] DeviceKernel update_kernel(const Strategy& strategy, const StagePlan& stage);

}  // namespace elk::train
