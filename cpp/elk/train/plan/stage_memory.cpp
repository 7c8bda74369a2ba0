#include "elk/train/plan/stage_memory.hpp"

#include <algorithm>

#include "elk/base/rounding.hpp"

namespace elk::train {
namespace {

constexpr std::int64_t kWord = 4;  // bytes of a master weight, and of each moment

Bytes share(std::int64_t bytes, std::int64_t replicas) { return {ceil_div(bytes, replicas)}; }

Bytes most_saved(const StagePlan& stage, const std::vector<PipelinePass>& passes) {
  Bytes now{0};
  Bytes most{0};
  for (const PipelinePass& pass : passes) {
    const Bytes saved = stage.chunks[pass.chunk].saved;
    now = pass.backward ? now - saved : now + saved;
    most = std::max(most, now);
  }
  return most;
}

}  // namespace

StateBytes state_bytes(Optimizer optimizer, const UnitPlan& unit) {
  const std::int64_t weight =
      unit.parameters > 0 ? ceil_div(unit.weights.value, unit.parameters) : 0;
  const std::int64_t master = weight < kWord ? kWord : 0;
  switch (optimizer) {
    case Optimizer::None:
      return {.weight = weight, .gradient = 0, .optimizer = 0};
    case Optimizer::Sgd:
      return {.weight = weight, .gradient = weight, .optimizer = master};
    case Optimizer::Adam:
      break;
  }
  return {.weight = weight, .gradient = weight, .optimizer = master + (2 * kWord)};
}

StageMemory stage_memory(const Strategy& strategy, const StagePlan& stage,
                         const std::vector<PipelinePass>& passes, Bytes full_layer) {
  StageMemory memory{};
  Bytes largest{0};
  const auto over = [&](std::int32_t level) { return strategy.zero >= level ? strategy.dp : 1; };
  for (const PartPlan& part : stage.chunks) {
    for (const UnitPlan& unit : part.units) {
      const StateBytes bytes = state_bytes(strategy.optimizer, unit);
      memory.weights += share(unit.weights.value, over(3));
      memory.gradients += share(unit.parameters * bytes.gradient, over(2));
      memory.optimizer += share(unit.parameters * bytes.optimizer, over(1));
      largest = std::max(largest, unit.weights);
    }
  }
  if (strategy.zero == 3 && strategy.dp > 1) {
    memory.working += largest * 2;  // One is used, the next is gathered.
  }
  if (strategy.trains()) {
    memory.activations = most_saved(stage, passes);
    memory.working += stage.recompute ? full_layer : Bytes{0};
  }
  return memory;
}

DeviceKernel update_kernel(const Strategy& strategy, const StagePlan& stage) {
  DeviceKernel kernel = pass_kernel({0}, {0}, {0});
  for (const PartPlan& part : stage.chunks) {
    for (const UnitPlan& unit : part.units) {
      const StateBytes bytes = state_bytes(strategy.optimizer, unit);
      const std::int64_t held = ceil_div(unit.parameters, strategy.zero >= 1 ? strategy.dp : 1);
      kernel.input += Bytes{held * (bytes.optimizer + bytes.gradient)};
      kernel.output += Bytes{held * (bytes.optimizer + bytes.weight)};
    }
  }
  return kernel;
}

}  // namespace elk::train
