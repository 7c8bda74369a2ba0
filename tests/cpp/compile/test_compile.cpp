#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rounds.hpp"
#include "compile/plans.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/compile/compile.hpp"
#include "elk/compile/moved.hpp"
#include "elk/compile/simulate.hpp"
#include "elk/program/program.hpp"
#include "schedule/models.hpp"

namespace elk::compile {
namespace {

void expect_same_on_any_number_of_threads(const chip::Chip& chip) {
  const ir::Graph graph = test::transformer({.layers = 3, .rows = 4, .width = 96});
  const std::vector<std::int32_t> counts =
      test::kSanitized ? std::vector<std::int32_t>{4} : std::vector<std::int32_t>{1, 2, 4, 4};
  for (const Policy policy : policies_with_all_work()) {
    const std::optional<Plan> one = plan(graph, chip, policy, 1);
    ASSERT_TRUE(one) << schedule::name(policy);
    for (const std::int32_t threads : counts) {
      const std::optional<Plan> again = plan(graph, chip, policy, threads);
      ASSERT_TRUE(again);
      expect_same(*one, *again);
    }
  }
}

TEST(OnAnyNumberOfThreads, CompileGivesTheSamePlan) {
  expect_same_on_any_number_of_threads(test::tight_chip(16, 16384));
}

TEST(OnAnyNumberOfThreads, CompileGivesTheSamePlanForAPod) {
  expect_same_on_any_number_of_threads(test::tight_pair(8, 32768));
}

TEST(OnAnyNumberOfThreads, CompileGivesTheSamePlanForAGrid) {
  expect_same_on_any_number_of_threads(test::grid_chip(4, 4, 24576));
}

TEST(OnAnyNumberOfThreads, CompileGivesTheSamePlanWithoutHbm) {
  expect_same_on_any_number_of_threads(test::without_hbm(test::tight_chip(32, 131072)));
}

TEST(OnAnyNumberOfThreads, SimulateRunsProgramsTogetherAsAlone) {
  const ir::Graph graph = test::transformer({.layers = 3, .rows = 4, .width = 96});
  const tile::TileModel tiles = test::analytic();
  for (const chip::Chip& chip : {test::tight_chip(16, 16384), test::grid_chip(4, 4, 24576)}) {
    std::vector<Plan> plans;
    std::vector<const program::Program*> programs;
    plans.reserve(3);
    for (const Policy policy : {Policy::Basic, Policy::Static, Policy::ElkFull}) {
      plans.push_back(plan(graph, chip, policy).value());
      programs.push_back(&plans.back().program);
    }
    for (const int threads : {1, 4}) {
      const std::vector<sim::Run> runs = simulate_alike(graph, chip, programs, tiles, threads);
      ASSERT_EQ(runs.size(), programs.size());
      for (std::size_t i = 0; i < runs.size(); ++i) {
        const sim::Run alone = simulate(graph, chip, *programs[i], tiles, sim::Fidelity::Symmetric);
        EXPECT_EQ(runs[i].total, alone.total);
        EXPECT_EQ(runs[i].ops, alone.ops);
        EXPECT_EQ(runs[i].stores, alone.stores);
        EXPECT_EQ(runs[i].cores, alone.cores);
      }
    }
  }
}

/// By what a policy is never worse than those below it: simulated time, and on a grid the forecast.
Picoseconds measured(const ir::Graph& graph, const chip::Chip& chip, const Plan& plan) {
  if (chip.interconnect.topology != chip::Topology::AllToAll) {
    return plan.predicted.total;
  }
  const tile::TileModel tiles = test::analytic();
  return simulate(graph, chip, plan.program, tiles, sim::Fidelity::Symmetric).total;
}

/// The machines on which plans of random models are held against the ideal.
std::vector<chip::Chip> machines(Random& random) {
  return {test::random_chip(random), test::grid_chip(4, 4, 24576), test::tight_pair(8, 32768),
          test::without_hbm(test::tight_chip(32, 131072))};
}

TEST(Compile, NoPolicyBeatsTheIdealOnRandomModels) {
  const tile::TileModel tiles = test::analytic();
  Random random{71};
  int models = 0;
  for (int round = 0; round < test::rounds(4); ++round) {
    const ir::Graph graph = test::random_graph(random);
    for (const chip::Chip& chip : machines(random)) {
      const std::optional<Plan> ideal = plan(graph, chip, Policy::Ideal);
      for (const Policy policy : {Policy::Basic, Policy::Static, Policy::ElkDyn, Policy::ElkFull}) {
        const std::optional<Plan> found = plan(graph, chip, policy);
        if (!found) {
          continue;
        }
        ++models;
        const Picoseconds ran = simulate(graph, chip, found->program, tiles, fidelity(chip)).total;
        ASSERT_TRUE(ideal);
        EXPECT_LE(ideal->predicted.total, ran) << "round " << round << " on " << chip.name;
        EXPECT_LE(found->bounds.ideal, to_seconds(ran));
        EXPECT_LE(to_picoseconds(found->bounds.ideal), found->predicted.total);
      }
    }
  }
  EXPECT_GT(models, test::rounds(48));
}

TEST(Compile, KeepsThePromisesOfEveryPolicyOnRandomModels) {
  Random random{53};
  int models = 0;
  for (int round = 0; round < test::rounds(30); ++round) {
    const ir::Graph graph = test::random_graph(random);
    const chip::Chip chip = test::random_chip(random);
    std::optional<Plan> before;
    for (const Policy policy : {Policy::Basic, Policy::Static, Policy::ElkDyn, Policy::ElkFull}) {
      std::optional<Plan> found = plan(graph, chip, policy);
      if (before) {
        ASSERT_TRUE(found) << "round " << round << ": " << schedule::name(policy);
        EXPECT_LE(measured(graph, chip, *found), measured(graph, chip, *before))
            << "round " << round << ": " << schedule::name(policy);
        EXPECT_EQ(proved(found->bounds), proved(before->bounds));
      }
      if (found) {
        ++models;
        EXPECT_EQ(found->policy, policy);
        EXPECT_LE(found->origin, policy);
        EXPECT_LE(to_picoseconds(found->bounds.lower_bound), found->predicted.total);
        EXPECT_EQ(program::check(graph, chip, found->program), (std::vector<std::string>{}));
        EXPECT_EQ(found->occupancy.size(), found->program.code.size());
      }
      before = std::move(found);
    }
  }
  EXPECT_GT(models, test::rounds(80));
}

TEST(Compile, ForecastsTheIdealWithoutAProgramToRun) {
  const ir::Graph graph = test::transformer({.layers = 3});
  const chip::Chip chip = test::tight_chip(16, 32768);
  const Plan ideal = *plan(graph, chip, Policy::Ideal);
  EXPECT_TRUE(ideal.program.buffers.empty());
  EXPECT_TRUE(ideal.occupancy.empty());
  EXPECT_EQ(ideal.ops.size(), graph.ops.size());
  EXPECT_EQ(ideal.program.code.front().opcode, program::Opcode::Preload);
  EXPECT_EQ(ideal.predicted.total, to_picoseconds(ideal.bounds.ideal));
  const Plan real = *plan(graph, chip, Policy::ElkFull);
  EXPECT_EQ(ideal.bounds.ideal, real.bounds.ideal);
  EXPECT_FALSE(real.program.buffers.empty());
}

TEST(Compile, IssuesNoPreloadOnAChipWithoutHbm) {
  const ir::Graph graph = test::transformer({.layers = 2});
  const chip::Chip chip = test::without_hbm(test::tight_chip(32, 65536));
  for (const Policy policy : kPolicies) {
    const std::optional<Plan> found = plan(graph, chip, policy);
    ASSERT_TRUE(found) << schedule::name(policy);
    EXPECT_TRUE(found->schedule.preload_order.empty());
    for (const program::Instruction& step : found->program.code) {
      EXPECT_NE(step.opcode, program::Opcode::Preload);
    }
    for (const PlannedOp& op : found->ops) {
      EXPECT_FALSE(op.has_preload);
      EXPECT_EQ(op.state.hbm_bytes, 0);
    }
    EXPECT_EQ(found->bounds.hbm, Seconds{0.0});
  }
}

TEST(Compile, ChargesEachOpForItsTrueNeighbours) {
  const ir::Graph graph = test::chain(4, 8, 64, true);
  const Plan found = *plan(graph, test::tight_chip(16, 65536), Policy::ElkFull);
  int in_place = 0;
  for (const OpId op : found.ops.ids()) {
    const cost::PlanOption& option = found.ops[op].option;
    EXPECT_DOUBLE_EQ(
        option.time.value,
        (option.gather.time + option.compute + option.shift.time + option.reduce.time).value);
    const auto& front = found.fronts[static_cast<std::size_t>(found.ops[op].front)];
    const auto& alone = front.options[static_cast<std::size_t>(found.ops[op].choice)];
    EXPECT_EQ(option.plan, alone.plan);
    EXPECT_LE(option.gather.bytes, alone.gather.bytes);
    in_place += option.gather.bytes == Bytes{0} ? 1 : 0;
  }
  EXPECT_GE(in_place, 4);  // an elementwise op works where its operand lies
}

TEST(Compile, StoresNewRowsAfterTheOpThatMakesThem) {
  const ir::Graph graph = test::transformer({.layers = 2});
  const Plan found = *plan(graph, test::tight_chip(16, 32768), Policy::ElkFull);
  EXPECT_EQ(found.predicted.stores.size(), graph.stores.size());
  for (const schedule::StoreTimes& times : found.predicted.stores) {
    for (const ir::Store& store : graph.stores) {
      if (store.tensor == times.tensor) {
        EXPECT_GE(times.store.begin, found.predicted.ops[store.op].execute.end);
      }
    }
    EXPECT_LE(times.store.end, found.predicted.total);
  }
}

}  // namespace
}  // namespace elk::compile
