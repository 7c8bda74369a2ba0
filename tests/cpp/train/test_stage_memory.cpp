#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/table.hpp"
#include "elk/train/pipeline.hpp"
#include "elk/train/plan/stage_memory.hpp"

namespace elk::train {
namespace {

constexpr std::int64_t kGradient = 2;  // bytes of a gradient

/// So many parameters of `width` bytes each.
UnitPlan unit_of(std::int64_t parameters, std::int64_t width = 2) {
  return {.forward = {},
          .backward = {},
          .ops = {},
          .layer = true,
          .parameters = parameters,
          .weights = {width * parameters},
          .sums = {}};
}

PartPlan part_of(std::vector<UnitPlan> units, std::int64_t saved = 0) {
  return {.units = std::move(units), .saved = {saved}, .input = {0}, .handed = {}};
}

StagePlan stage_of(std::vector<PartPlan> chunks) {
  return {.devices = StageDevices({CoreId{0}}, 1),
          .chunks = std::move(chunks),
          .in_flight = 1,
          .recompute = false,
          .memory = {},
          .sram = {}};
}

/// A stage drawn by chance whose parameters replicas share evenly.
struct RandomStage {
  Strategy strategy;
  StagePlan stage = stage_of({});
  std::int64_t parameters = 0;
  std::int64_t largest = 0;  // of its units

  explicit RandomStage(Random& random) {
    strategy.dp = 2 + random.below(7);
    for (std::int64_t chunk = 1 + random.below(3); chunk > 0; --chunk) {
      std::vector<UnitPlan> units;
      for (std::int64_t unit = random.below(4); unit > 0; --unit) {
        const std::int64_t count = strategy.dp * random.below(1000);
        units.push_back(unit_of(count));
        parameters += count;
        largest = std::max(largest, count);
      }
      stage.chunks.push_back(part_of(std::move(units)));
    }
  }

  [[nodiscard]] StageMemory memory() const { return stage_memory(strategy, stage, {}, {0}); }
};

constexpr int kStages = 200;

/// Bytes of optimizer state of a parameter, as the table of ZeRO has it.
std::int64_t optimizer_bytes(Optimizer optimizer) {
  return optimizer == Optimizer::Adam ? 12 : optimizer == Optimizer::Sgd ? 4 : 0;
}

TEST(StageMemory, StateIsThatOfTheTableOfZero) {
  Random random{1};
  for (int i = 0; i < kStages; ++i) {
    RandomStage one(random);
    const std::int64_t psi = one.parameters;
    const std::int64_t d = one.strategy.dp;
    for (const Optimizer optimizer : {Optimizer::Adam, Optimizer::Sgd}) {
      const std::int64_t state = optimizer_bytes(optimizer);
      const std::vector<std::int64_t> expected{
          psi * (2 + kGradient + state), (psi * (2 + kGradient)) + (psi * state / d),
          (psi * 2) + (psi * (kGradient + state) / d), psi * (2 + kGradient + state) / d};
      for (std::int32_t zero = 0; zero <= 3; ++zero) {
        one.strategy.optimizer = optimizer;
        one.strategy.zero = zero;
        const StageMemory memory = one.memory();
        EXPECT_EQ(memory.weights + memory.gradients + memory.optimizer,
                  Bytes{expected[subscript(zero)]})
            << "ZeRO " << zero;
        EXPECT_EQ(memory.working, Bytes{zero == 3 ? 2 * 2 * one.largest : 0}) << "ZeRO " << zero;
        EXPECT_EQ(memory.activations, Bytes{0});
      }
    }
  }
}

TEST(StageMemory, OneReplicaSharesNothing) {
  Strategy strategy;
  const StagePlan stage = stage_of({part_of({unit_of(100), unit_of(50)})});
  const StageMemory whole = stage_memory(strategy, stage, {}, {0});
  strategy.zero = 3;
  EXPECT_EQ(stage_memory(strategy, stage, {}, {0}).total(), whole.total());
  EXPECT_EQ(whole.total(), Bytes{150 * 16});
}

TEST(StageMemory, WithoutTrainingThereAreWeightsAlone) {
  Random random{2};
  for (int i = 0; i < kStages; ++i) {
    RandomStage one(random);
    one.strategy.optimizer = Optimizer::None;
    one.stage.recompute = true;
    for (PartPlan& chunk : one.stage.chunks) {
      chunk.saved = {1000};
    }
    const std::vector<PipelinePass> passes{
        {.backward = false, .micro = MicroId{0}, .chunk = ChunkId{0}}};
    EXPECT_EQ(stage_memory(one.strategy, one.stage, passes, {500}).total(),
              Bytes{2 * one.parameters});
  }
}

TEST(StageMemory, UpdatesReadAndWriteTheStateThatADeviceHolds) {
  Random random{3};
  for (int i = 0; i < kStages; ++i) {
    RandomStage one(random);
    for (const Optimizer optimizer : {Optimizer::Adam, Optimizer::Sgd}) {
      const std::int64_t state = optimizer_bytes(optimizer);
      for (std::int32_t zero = 0; zero <= 3; ++zero) {
        one.strategy.optimizer = optimizer;
        one.strategy.zero = zero;
        const std::int64_t held = zero == 0 ? one.parameters : one.parameters / one.strategy.dp;
        const DeviceKernel update = update_kernel(one.strategy, one.stage);
        EXPECT_EQ(update.input, Bytes{held * (state + kGradient)});
        EXPECT_EQ(update.output, Bytes{held * (state + 2)});
        EXPECT_EQ(update.weight, Bytes{0});
        EXPECT_FALSE(update.product);
      }
    }
  }
}

TEST(StageMemory, WeightsOfFourBytesHaveNoCopyBesideThem) {
  const UnitPlan unit = unit_of(10, 4);
  EXPECT_EQ(state_bytes(Optimizer::Adam, unit).gradient, 4);
  EXPECT_EQ(state_bytes(Optimizer::Adam, unit).optimizer, 8);
  EXPECT_EQ(state_bytes(Optimizer::Sgd, unit).optimizer, 0);
}

TEST(StageMemory, ActivationsAreThoseOfAllMicroBatchesInFlight) {
  Random random{4};
  const Strategy strategy;
  for (int i = 0; i < kStages; ++i) {
    const std::int64_t saved = random.below(1000);
    const Pipeline pipeline{.schedule = random.below(2) == 0
                                            ? PipelineSchedule::GPipe
                                            : PipelineSchedule::OneForwardOneBackward,
                            .stages = static_cast<std::int32_t>(1 + random.below(6)),
                            .chunks = 1,
                            .micros = static_cast<std::int32_t>(1 + random.below(9)),
                            .backward = true};
    for (const PipelineStageId s : first_ids<PipelineStageId>(pipeline.stages)) {
      const std::vector<PipelinePass> passes = passes_of(pipeline, s);
      const StagePlan stage = stage_of({part_of({}, saved)});
      EXPECT_EQ(stage_memory(strategy, stage, passes, {0}).activations,
                Bytes{saved * most_in_flight(passes)});
    }
  }
}

TEST(StageMemory, ChunksThatSaveDifferentlyCountAsTheyFly) {
  // Stage 1 of two begins with two of chunk 0 in flight, then takes one of chunk 1 after another
  // back, and has three of chunk 0 when the next two micro-batches come.
  const Pipeline pipeline{.schedule = PipelineSchedule::Interleaved,
                          .stages = 2,
                          .chunks = 2,
                          .micros = 4,
                          .backward = true};
  const std::vector<PipelinePass> passes = passes_of(pipeline, PipelineStageId{1});
  ASSERT_EQ(most_in_flight(passes), 3);
  const Strategy strategy;
  const auto activations = [&](std::int64_t first, std::int64_t second) {
    const StagePlan stage = stage_of({part_of({}, first), part_of({}, second)});
    return stage_memory(strategy, stage, passes, {0}).activations;
  };
  EXPECT_EQ(activations(10, 10), Bytes{30});
  EXPECT_EQ(activations(100, 1), Bytes{300}) << "three of chunk 0";
  EXPECT_EQ(activations(1, 100), Bytes{102}) << "two of chunk 0 and one of chunk 1";
}

TEST(StageMemory, WhatIsMadeAgainTakesOneLayerInFull) {
  const Strategy strategy;
  StagePlan stage = stage_of({part_of({unit_of(10)})});
  EXPECT_EQ(stage_memory(strategy, stage, {}, {700}).working, Bytes{0});
  stage.recompute = true;
  EXPECT_EQ(stage_memory(strategy, stage, {}, {700}).working, Bytes{700});
}

}  // namespace
}  // namespace elk::train
