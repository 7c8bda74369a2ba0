#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/train/play/simulate_training.hpp"
#include "train/models.hpp"

namespace elk::train {
namespace {

constexpr std::int64_t kMemory = std::int64_t{1} << 34;

/// A bias and layers of an MLP around a residual stream, and a softmax. Each unit has as many
/// parameters as a multiple of `width`.
ir::Graph model(std::int32_t layers, std::int64_t rows, std::int64_t width) {
  test::Net net;
  TensorId x = test::trained(net, {rows, width});
  for (std::int32_t layer = 0; layer < layers; ++layer) {
    x = net.add(test::add_of(rows, width), {test::mlp(net, x, rows, width), x});
  }
  net.add(test::softmax(rows, width), {x}, ir::Home::Output);
  net.graph.repeat = ir::Repeat{.begin = OpId{1}, .period = 4, .count = layers};
  return net.graph;
}

/// A model, the machine that trains it, and how.
struct Training {
  ir::Graph graph;
  chip::Chip chip;
  Strategy strategy;
  std::int64_t micros;

  [[nodiscard]] TrainingPlan plan() const {
    const tile::TileModel tiles = test::analytic();
    return plan_training({.graph = graph,
                          .chip = chip,
                          .tiles = &tiles,
                          .gpu = std::nullopt,
                          .strategy = strategy,
                          .batch = micros * strategy.dp * strategy.micro_batch});
  }
  [[nodiscard]] TrainingRun run(sim::Fidelity fidelity = sim::Fidelity::Flows,
                                sim::Links links = sim::Links::Shared) const {
    return simulate_training(plan(), chip, fidelity, links);
  }
};

/// A schedule, and what goes with it, drawn by chance.
void draw(Random& random, Training& training) {
  Strategy& strategy = training.strategy;
  strategy.schedule = static_cast<PipelineSchedule>(random.below(strategy.pp > 1 ? 3 : 2));
  const bool interleaved = strategy.schedule == PipelineSchedule::Interleaved;
  strategy.chunks = interleaved ? 2 : 1;
  training.micros = interleaved ? strategy.pp * (1 + random.below(3)) : 1 + random.below(8);
  strategy.zero = static_cast<std::int32_t>(random.below(4));
  strategy.recompute = random.below(2) == 0 ? Recompute::None : Recompute::Full;
  strategy.optimizer = static_cast<Optimizer>(random.below(3));
}

/// A grid without memory whose stages lie on a line each, so that no two meet on a link: those of
/// one stage are in its line, and those from stage to stage across the lines.
Training apart(Random& random) {
  const std::int64_t cols = 1 + random.below(4);
  const std::int64_t rows = cols + random.below(3);
  Training training{.graph = model(4, std::int64_t{4} << random.below(4), 48),
                    .chip = test::without_hbm(test::grid_chip(rows, cols, kMemory)),
                    .strategy = {},
                    .micros = 1};
  training.strategy.layout = StageLayout::Line;
  training.strategy.pp =
      static_cast<std::int32_t>(1 + random.below(std::min<std::int64_t>(rows, 3)));
  training.strategy.tp = cols == 4 ? 2 : random.below(2) == 0 ? cols : 1;
  training.strategy.dp = cols / training.strategy.tp;
  draw(random, training);
  return training;
}

TEST(SimulateTraining, FlowsAndSymmetricAgreeWhereNoStagesMeet) {
  Random random{1};
  for (int i = 0; i < 60; ++i) {
    const Training training = apart(random);
    for (const sim::Links links : {sim::Links::Shared, sim::Links::Exclusive}) {
      const TrainingRun flows = training.run(sim::Fidelity::Flows, links);
      const TrainingRun symmetric = training.run(sim::Fidelity::Symmetric, links);
      EXPECT_EQ(flows.total, symmetric.total) << "case " << i;
      EXPECT_EQ(flows.split, symmetric.split) << "case " << i;
      EXPECT_EQ(flows.sent, symmetric.sent) << "case " << i;
      ASSERT_EQ(flows.rows.size(), symmetric.rows.size());
      for (std::size_t r = 0; r < flows.rows.size(); ++r) {
        EXPECT_EQ(flows.rows[r].time.begin, symmetric.rows[r].time.begin) << "case " << i;
        EXPECT_EQ(flows.rows[r].time.end, symmetric.rows[r].time.end) << "case " << i;
      }
    }
  }
}

/// A chip with memory, of ports or a grid, on which stages meet. Its SRAM holds much of what the
/// first stage has, or little.
Training meeting(Random& random) {
  Training training{
      .graph = model(3, std::int64_t{8} << random.below(4), 48),
      .chip = random.below(2) == 0 ? test::tight_chip(12, kMemory) : test::grid_chip(3, 4, kMemory),
      .strategy = {},
      .micros = 1};
  training.chip.hbm->rate = random.below(2) == 0 ? 4e9 : 64e9;
  training.chip.hbm->port_rate = training.chip.hbm->rate;
  training.strategy.pp = static_cast<std::int32_t>(1 + random.below(2));
  training.strategy.tp = 1 + random.below(3);
  training.strategy.dp = 1 + random.below(2);
  draw(random, training);
  training.strategy.overlap_dp = random.below(2) == 0;
  training.strategy.overlap_pp = random.below(2) == 0;
  const SramUse use = training.plan().stages.front().sram;
  const std::int64_t most = 2 * (use.weights + use.activations).value;
  training.chip.core.sram = training.chip.core.reserved + Bytes{1 + random.below(most)};
  return training;
}

TEST(SimulateTraining, WhatEachStageDoesSumsToTheTotal) {
  Random random{2};
  for (int i = 0; i < 60; ++i) {
    const Training training = meeting(random);
    for (const sim::Fidelity fidelity : {sim::Fidelity::Flows, sim::Fidelity::Symmetric}) {
      const TrainingRun run = training.run(fidelity);
      ASSERT_EQ(std::ssize(run.split), training.strategy.pp);
      for (const PartTimes& split : run.split) {
        Picoseconds sum{0};
        for (const Picoseconds part : split) {
          EXPECT_GE(part, Picoseconds{0}) << "case " << i;
          sum += part;
        }
        EXPECT_EQ(sum, run.total) << "case " << i;
      }
    }
  }
}

/// What kernels of all units of a stage take, one micro-batch.
Picoseconds kernels(const TrainingPlan& plan, const StagePlan& stage,
                    std::vector<WorkStep> UnitPlan::*steps) {
  Picoseconds total{0};
  for (const PartPlan& part : stage.chunks) {
    for (const UnitPlan& unit : part.units) {
      for (const WorkStep& step : unit.*steps) {
        total += step.kernel ? kernel_time(plan, *step.kernel) : Picoseconds{0};
      }
    }
  }
  return total;
}

TEST(SimulateTraining, ComputationIsThatOfTheKernels) {
  Random random{3};
  for (int i = 0; i < 40; ++i) {
    Training training = meeting(random);
    training.strategy.recompute = Recompute::None;
    const TrainingPlan plan = training.plan();
    const TrainingRun run = training.run();
    for (const PipelineStageId s : run.split.ids()) {
      EXPECT_EQ(run.split[s][static_cast<std::size_t>(TimePart::Forward)],
                kernels(plan, plan.stages[s], &UnitPlan::forward) * training.micros);
      EXPECT_EQ(run.split[s][static_cast<std::size_t>(TimePart::Backward)],
                training.strategy.trains()
                    ? kernels(plan, plan.stages[s], &UnitPlan::backward) * training.micros
                    : Picoseconds{0});
    }
  }
}

TEST(SimulateTraining, ZeroSendsWhatItsTableSays) {
  Random random{4};
  for (int i = 0; i < 40; ++i) {
    const std::int64_t d = 1 + random.below(6);
    const std::int64_t n = 1 + random.below(6);
    Training training{.graph = model(2, 4, 60),  // Replicas share 60 columns evenly.
                      .chip = test::tight_chip(12, kMemory),
                      .strategy = {},
                      .micros = n};
    training.strategy.pp = static_cast<std::int32_t>(1 + random.below(2));
    training.strategy.dp = d;
    training.strategy.overlap_dp = random.below(2) == 0;
    // Of each parameter the weight and its gradient have two bytes.
    const std::vector<std::int64_t> expected{4, 4, (2 * n) + 2, 6 * n};
    for (std::int32_t zero = 0; zero <= 3; ++zero) {
      training.strategy.zero = zero;
      const TrainingPlan plan = training.plan();
      const TrainingRun run = training.run();
      for (const PipelineStageId s : plan.stages.ids()) {
        std::int64_t psi = 0;
        for (const UnitPlan& unit : plan.stages[s].chunks.front().units) {
          psi += unit.parameters;
        }
        ASSERT_GT(psi, 0);
        EXPECT_EQ(run.sent[s][static_cast<std::size_t>(TimePart::DataParallel)],
                  Bytes{expected[subscript(zero)] * psi / d * (d - 1)})
            << "ZeRO " << zero << ", " << d << " replicas, " << n << " micro-batches";
      }
    }
  }
}

TEST(SimulateTraining, StagesHandOnActivationsAndTheirGradients) {
  Training training{
      .graph = model(2, 8, 48), .chip = test::tight_chip(12, kMemory), .strategy = {}, .micros = 5};
  const std::int64_t bytes = 2 * 8 * 48;
  for (std::int64_t tp = 1; tp <= 4; ++tp) {
    training.strategy.pp = 3;
    training.strategy.tp = tp;
    // Each device sends one part, and gathers all others as it passes them on in a ring.
    const std::int64_t sends = bytes / tp * 5;
    const std::int64_t gathers = bytes / tp * (tp - 1) * 5;
    const TrainingRun run = training.run();
    const auto sent = [&](std::int32_t stage) {
      return run.sent[PipelineStageId{stage}][static_cast<std::size_t>(TimePart::Pipeline)];
    };
    EXPECT_EQ(sent(0), Bytes{sends + gathers}) << "activations on, gradients gathered";
    EXPECT_EQ(sent(1), Bytes{2 * (sends + gathers)});
    EXPECT_EQ(sent(2), Bytes{sends + gathers}) << "gradients back, activations gathered";
  }
}

TEST(SimulateTraining, FasterLinksAndMemoryAndMoreSramNeverMakeItSlower) {
  Random random{5};
  for (int i = 0; i < 80; ++i) {
    const Training training = meeting(random);
    const auto before = static_cast<double>(training.run().total.value);
    for (const std::string better : {"links", "memory", "SRAM"}) {
      Training other = training;
      if (better == "links") {
        other.chip.interconnect.link_rate *= 1.5;
      } else if (better == "memory") {
        other.chip.hbm->rate *= 1.5;
        other.chip.hbm->port_rate *= 1.5;
      } else {
        other.chip.core.sram = other.chip.core.sram * 2;
      }
      EXPECT_LE(static_cast<double>(other.run().total.value), 1.01 * before)
          << "case " << i << ", with better " << better;
    }
  }
}

TEST(SimulateTraining, AnUpdateMovesTheStateThatSramDoesNotHold) {
  Training training{
      .graph = model(3, 8, 48), .chip = test::tight_chip(12, kMemory), .strategy = {}, .micros = 1};
  const StagePlan stage = training.plan().stages.front();
  std::int64_t parameters = 0;
  for (const UnitPlan& unit : stage.chunks.front().units) {
    parameters += unit.parameters;
  }
  ASSERT_LT(stage.sram.activations, stage.sram.weights);
  // With room for activations, and with room for nothing.
  for (const Bytes room : {stage.sram.activations, Bytes{1}}) {
    training.chip.core.sram = training.chip.core.reserved + room;
    const TrainingRun run = training.run();
    ASSERT_EQ(run.rows.back().kind, RowKind::Update);
    // Of each parameter 14 bytes are read and as many written, at the rate of a core's ports.
    const double least =
        14.0 * static_cast<double>(parameters) / training.chip.interconnect.link_rate;
    const Picoseconds time = run.rows.back().time.end - run.rows.back().time.begin;
    EXPECT_GE(to_seconds(time).value, least) << "room of " << room.value;
  }
}

TEST(SimulateTraining, ExclusiveLinksAreNeverShorterThanAlone) {
  Random random{6};
  for (int i = 0; i < 60; ++i) {
    const Training training = meeting(random);
    EXPECT_GE(training.run(sim::Fidelity::Flows, sim::Links::Exclusive).total,
              training.run(sim::Fidelity::Symmetric, sim::Links::Exclusive).total)
        << "case " << i;
  }
}

TEST(SimulateTraining, AModelThatMemoryDoesNotHoldIsInfeasible) {
  Training training{.graph = model(2, 8, 48),
                    .chip = test::without_hbm(test::tight_chip(12, kMemory)),
                    .strategy = {},
                    .micros = 2};
  const Bytes needed = training.plan().stages.front().memory.total();
  training.chip.core.sram = training.chip.core.reserved + needed;
  EXPECT_EQ(training.plan().stages.front().memory.total(), needed);
  training.chip.core.sram -= Bytes{1};
  EXPECT_THROW(static_cast<void>(training.plan()), Infeasible);
}

TEST(SimulateTraining, CoresAreNoFidelityOfTraining) {
  Random random{7};
  const Training training = apart(random);
  EXPECT_THROW(static_cast<void>(training.run(sim::Fidelity::Core)), InvalidInput);
}

}  // namespace
}  // namespace elk::train
