#include "elk/train/plan/step_forecast.hpp"

#include <algorithm>

#include "elk/train/plan/stage_memory.hpp"

namespace elk::train {
namespace {

/// What a ring of `parts` among so many devices takes for each turn around it, moving all of
/// `bytes` but one part.
Picoseconds ring_time(const chip::Chip& chip, std::int64_t devices, std::int64_t parts,
                      double bytes, double turns) {
  const bool leaves = devices > chip.core.count && chip.inter_chip;
  const double rate = leaves ? std::min(chip.interconnect.link_rate, chip.inter_chip->rate)
                             : chip.interconnect.link_rate;
  const double sync =
      leaves ? chip.inter_chip->sync_latency.value : chip.interconnect.sync_latency.value;
  const auto steps = static_cast<double>(parts - 1);
  return to_picoseconds({turns * steps * ((bytes / static_cast<double>(parts) / rate) + sync)});
}

Picoseconds memory_time(const chip::Chip& chip, const DramTraffic& traffic) {
  const double rate = chip.hbm->rate / static_cast<double>(chip.core.count);
  return to_picoseconds({static_cast<double>((traffic.read + traffic.written).value) / rate});
}

/// What the passes of one micro-batch take on a stage.
Picoseconds passes_time(const TrainingPlan& plan, const chip::Chip& chip, const StagePlan& stage) {
  Picoseconds total{0};
  for (const PartPlan& part : stage.chunks) {
    for (const UnitPlan& unit : part.units) {
      const Picoseconds forward = about(plan, chip, &stage.sram, unit.forward);
      total += forward + about(plan, chip, &stage.sram, unit.backward);
      total += stage.recompute && unit.layer ? forward : Picoseconds{0};
    }
  }
  return total;
}

/// What the update of a stage takes, with the gradients of its replicas.
Picoseconds update_time(const TrainingPlan& plan, const chip::Chip& chip, const StagePlan& stage) {
  if (!plan.strategy.trains()) {
    return {0};
  }
  const DeviceKernel update = update_kernel(plan.strategy, stage);
  Picoseconds own = kernel_time(plan, update);
  if (chip.hbm) {
    own = std::max(own, memory_time(chip, update_traffic(stage.sram, update)));
  }
  double bytes = 0.0;
  for (const PartPlan& part : stage.chunks) {
    for (const UnitPlan& unit : part.units) {
      bytes += static_cast<double>(unit.weights.value);
    }
  }
  return own + ring_time(chip, plan.strategy.tp * plan.strategy.dp, plan.strategy.dp, bytes, 2.0);
}

}  // namespace

Picoseconds about(const TrainingPlan& plan, const chip::Chip& chip, const SramUse* sram,
                  const std::vector<WorkStep>& steps) {
  Picoseconds total{0};
  for (const WorkStep& step : steps) {
    if (step.kernel) {
      const bool waits = sram != nullptr && chip.hbm;
      total +=
          std::max(kernel_time(plan, *step.kernel),
                   waits ? memory_time(chip, dram_traffic(*sram, *step.kernel)) : Picoseconds{0});
      continue;
    }
    const bool twice = step.exchange->kind == RingKind::AllReduce;
    total += ring_time(chip, plan.strategy.tp, step.exchange->cut.parts,
                       static_cast<double>(step.exchange->bytes.value), twice ? 2.0 : 1.0);
  }
  return total;
}

Picoseconds forecast(const TrainingPlan& plan, const chip::Chip& chip) {
  Picoseconds longest{0};
  Picoseconds all{0};
  Picoseconds update{0};
  for (const StagePlan& stage : plan.stages) {
    const Picoseconds passes = passes_time(plan, chip, stage);
    longest = std::max(longest, passes);
    all += passes;
    update = std::max(update, update_time(plan, chip, stage));
  }
  return (longest * plan.pipeline.micros) +
         Picoseconds{(all - longest).value / plan.pipeline.chunks} + update;
}

}  // namespace elk::train
