#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/table.hpp"
#include "elk/schedule/policies/ideal.hpp"
#include "elk/schedule/timing/ideal_times.hpp"
#include "schedule/problems.hpp"

namespace elk::schedule {
namespace {

/// A chain of matmuls whose fronts have one plan each, on one core, with a made-up preload.
class IdealOfChain : public ::testing::Test {
 protected:
  static constexpr double kLoad = 1e-3;

  /// `space` of each preload and seconds that fetching from peers takes.
  Problem problem(std::int64_t space, double distribute) {
    std::vector<cost::Front> fronts;
    Table<OpId, std::int32_t> front_of;
    for (const OpId op : graph_.ops.ids()) {
      const partition::ExecutePlan whole{
          .factors = Table<AxisId, std::int64_t>(graph_.ops[op].axes.size(), 1),
          .temporal = Table<OperandId, Table<DimId, std::int64_t>>(graph_.ops[op].operands.size()),
          .pace = Table<AxisId, std::int64_t>(graph_.ops[op].axes.size(), 0),
          .order = {},
          .loops = {},
          .mesh_dims = Table<AxisId, std::int32_t>(graph_.ops[op].axes.size(), -1)};
      cost::PlanOption option = cost::price(graph_, graph_.ops[op], whole, chip_, tiles_);
      option.compute = {1.5 * kLoad};
      for (cost::PreloadState& state : option.states) {
        if (program::has_hbm_data(graph_, graph_.ops[op])) {
          state.space = {space};
          state.hbm_time = {kLoad};
          state.time = {kLoad};
          state.distribute.time = {distribute};
        }
      }
      front_of.push_back(static_cast<std::int32_t>(op.value));
      fronts.push_back(test::made_front({std::move(option)}));
    }
    return {graph_, chip_, tiles_, std::move(fronts), std::move(front_of)};
  }

  ir::Graph graph_ = test::chain(4, 4, 8, false);
  chip::Chip chip_ = test::prompt_chip(1000);
  tile::TileModel tiles_ = test::analytic();
};

TEST_F(IdealOfChain, RunsPreloadsOneAfterAnotherWhileTheyFit) {
  Problem problem = this->problem(250, 0.0);
  const cost::TimelineResult times = fastest_alone(problem).times;
  for (OpId op{1}; op < OpId{4}; ++op) {
    EXPECT_EQ(times.preloads[op].begin, times.preloads[op - 1].end);
  }
  EXPECT_EQ(times.preloads[OpId{0}].begin, Seconds{0.0});
  EXPECT_DOUBLE_EQ(times.preloads[OpId{3}].end.value, 4.0 * kLoad);
}

TEST_F(IdealOfChain, RunsPreloadsAheadOnlyAsFarAsTheSecondSramHolds) {
  Problem problem = this->problem(400, 0.0);  // two of them fit
  const cost::TimelineResult times = fastest_alone(problem).times;
  EXPECT_EQ(times.preloads[OpId{1}].begin, times.preloads[OpId{0}].end);
  EXPECT_EQ(times.preloads[OpId{2}].begin, times.executes[OpId{0}].end);
  EXPECT_EQ(times.preloads[OpId{3}].begin, times.executes[OpId{1}].end);
}

TEST_F(IdealOfChain, HasTheWholeSramForPreloadsWhateverExecutesTake) {
  Problem problem = this->problem(1000, 0.0);  // as much as the whole SRAM
  const cost::TimelineResult times = fastest_alone(problem).times;
  for (OpId op{1}; op < OpId{4}; ++op) {
    EXPECT_EQ(times.preloads[op].begin, times.executes[op - 1].end);
  }
}

TEST_F(IdealOfChain, FetchesFromPeersForNothing) {
  Problem free = this->problem(250, 0.0);
  Problem dear = this->problem(250, 1000.0);
  EXPECT_EQ(fastest_alone(free).times.total, fastest_alone(dear).times.total);
}

TEST_F(IdealOfChain, PaysForGatheringActivations) {
  Problem problem = this->problem(250, 0.0);
  const Ideal found = fastest_alone(problem);
  double sum = kLoad;
  for (const InPlaceCost& in_place : found.in_place) {
    sum += 1.5 * kLoad + in_place.gather.time.value;
  }
  EXPECT_GT(found.in_place.front().gather.time, Seconds{0.0});  // the input lies spread
  EXPECT_DOUBLE_EQ(found.times.total.value, sum);
}

TEST_F(IdealOfChain, WaitsForTheHbmOnlyWhereItWasIdle) {
  chip_.hbm->latency = {kLoad / 4.0};
  Problem roomy = this->problem(250, 0.0);
  EXPECT_DOUBLE_EQ(fastest_alone(roomy).times.preloads[OpId{3}].end.value, 4.25 * kLoad);
  Problem tight = this->problem(1000, 0.0);
  const cost::TimelineResult times = fastest_alone(tight).times;
  EXPECT_NEAR((times.preloads[OpId{3}].end - times.preloads[OpId{3}].begin).value, 1.25 * kLoad,
              1e-9 * kLoad);
}

TEST(Ideal, TakesTheFastestPlanAndTheSmallestPreload) {
  const ir::Graph graph = test::transformer({.layers = 3});
  const chip::Chip chip = test::tight_chip(16, 32768);
  const tile::TileModel tiles = test::analytic();
  Problem problem = test::problem(graph, chip, tiles);
  const Ideal found = fastest_alone(problem);
  int shared = 0;
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    const Choice& choice = found.schedule.ops[op];
    EXPECT_EQ(choice.option, problem.front(op).fastest);
    for (const cost::PreloadState& state : problem.option(op, choice).states) {
      EXPECT_LE(problem.state(op, choice).space, state.space);
      shared += state.space > problem.state(op, choice).space ? 1 : 0;
    }
    for (const cost::PlanOption& option : problem.front(op).options) {
      EXPECT_LE(problem.option(op, choice).time, option.time);
    }
  }
  EXPECT_GT(shared, 0);
}

/// Any plan of each op in any of its states.
Table<OpId, Choice> any_choices(const Problem& problem, Random& random) {
  Table<OpId, Choice> result;
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    const auto& options = problem.front(op).options;
    const auto option = random.below(static_cast<std::int64_t>(options.size()));
    const auto& states = options[static_cast<std::size_t>(option)].states;
    const auto state = random.below(static_cast<std::int64_t>(states.size()));
    result.push_back(
        {.option = static_cast<std::int32_t>(option), .state = static_cast<std::int32_t>(state)});
  }
  return result;
}

/// Seconds of choices under the ideal's rules.
Seconds ideally(Problem& problem, Table<OpId, Choice> choices) {
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    Choice& choice = choices[op];
    choice = least_preloaded(problem, op, choice);
  }
  return ideal_times(problem, situation(problem, choices, TimingRules::Ideal)).total;
}

TEST(Ideal, TakesTheBestOfWhatItIsGivenAndSearchesOn) {
  const tile::TileModel tiles = test::analytic();
  Random random{31};
  int taken = 0;
  int shorter = 0;
  for (int round = 0; round < 30; ++round) {
    const ir::Graph graph = test::random_graph(random);
    chip::Chip chip = test::random_chip(random);
    chip.core.sram = {1 << 20};
    Problem problem = test::problem(graph, chip, tiles);
    const Ideal alone = fastest_alone(problem);
    std::vector<Table<OpId, Choice>> found;
    Seconds least = alone.times.total;
    for (int i = 0; i < 60; ++i) {
      found.push_back(any_choices(problem, random));
      least = std::min(least, ideally(problem, found.back()));
    }
    const Ideal best = ideal(problem, alone, found, {});
    EXPECT_EQ(best.times.total, least);
    EXPECT_EQ(ideally(problem, best.schedule.ops), best.times.total);
    const Ideal further = ideal(problem, alone, found, {.most = 1'000'000});
    EXPECT_LE(further.times.total, least);
    EXPECT_EQ(ideally(problem, further.schedule.ops), further.times.total);
    for (const OpId op : first_ids<OpId>(problem.op_count())) {
      EXPECT_TRUE(fits_ideally(problem, op, further.schedule.ops[op]));
    }
    taken += least < alone.times.total ? 1 : 0;
    shorter += further.times.total < least ? 1 : 0;
  }
  EXPECT_GT(taken, 0);
  EXPECT_GT(shorter, 10);
}

TEST(Ideal, HoldsAnIndirectOperandBackUntilItsIndexIsMade) {
  test::Net net;
  const TensorId x = net.tensor(ir::Home::Input, {8, 16});
  const TensorId index = net.add(test::row_sum(8, 16), {x});
  net.add(test::embedding(8, 64, 16), {index}, ir::Home::Output);
  const ir::Graph graph = net.done();
  const chip::Chip chip = test::tight_chip(16, 65536);
  const tile::TileModel tiles = test::analytic();
  Problem problem = test::problem(graph, chip, tiles);
  const Ideal found = fastest_alone(problem);
  EXPECT_EQ(found.times.preloads[OpId{1}].begin, found.times.executes[OpId{0}].end);
  EXPECT_EQ(found.schedule.issued_before, (std::vector<std::int32_t>{0, 1}));
}

TEST(Ideal, HasNothingToPreloadOnAChipWithoutHbm) {
  const ir::Graph graph = test::chain(3, 8, 64, true);
  const chip::Chip chip = test::without_hbm(test::tight_chip(16, 65536));
  const tile::TileModel tiles = test::analytic();
  Problem problem = test::problem(graph, chip, tiles);
  const Ideal found = fastest_alone(problem);
  EXPECT_TRUE(found.schedule.preload_order.empty());
  EXPECT_EQ(found.times.total, found.times.executes.back().end);
}

}  // namespace
}  // namespace elk::schedule
