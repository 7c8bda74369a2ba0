#pragma once

#include <vector>

#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/train/plan/plan_training.hpp"

namespace elk::train {

/// About what steps take on each device: kernels as long as they compute or wait for memory, rings
/// at the rate of one link. `sram`: of the stage; null: memory costs nothing.
[[nodiscard]] Picoseconds about(const TrainingPlan& plan, const chip::Chip& chip,
                                const SramUse* sram, const std::vector<WorkStep>& steps);

/// About what a training step takes (PALM, Equation 1, for any number of chunks):
///
///     T = n max_s t_s + (sum_s t_s - max_s t_s) / v + max_s u_s
///
/// with n micro-batches, v chunks, t a stage's passes of one micro-batch and u its update, in which
/// replicas share gradients. It is exact without hand-overs where only the last stage is longer.
[[nodiscard]] Picoseconds forecast(const TrainingPlan& plan, const chip::Chip& chip);

}  // namespace elk::train
