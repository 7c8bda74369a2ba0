#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rounds.hpp"
#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/table.hpp"
#include "elk/schedule/policies/induction.hpp"
#include "elk/schedule/policies/search.hpp"
#include "elk/schedule/timing/evaluate.hpp"
#include "schedule/problems.hpp"

namespace elk::schedule {
namespace {

/// The result of a policy on a problem of its own.
std::optional<Found> result(const ir::Graph& graph, const chip::Chip& chip, Policy policy) {
  const tile::TileModel tiles = test::analytic();
  Problem problem = test::problem(graph, chip, tiles);
  if (!test::all_fit(problem)) {
    return std::nullopt;
  }
  try {
    return search(problem, {.policy = policy, .threads = 1});
  } catch (const Infeasible&) {
    return std::nullopt;
  }
}

TEST(Search, LeavesOthersAsideWhereThePapersStaticIsAsked) {
  for (const bool streams : {true, false}) {
    chip::Chip chip = test::tight_chip(16, 65536);
    chip = streams ? chip : test::without_hbm(chip);
    const ir::Graph graph = test::chain(4, 8, 64, true);
    const std::optional<Found> found = result(graph, chip, Policy::StaticPaper);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->origin, Policy::StaticPaper);
    EXPECT_TRUE(program::check(graph, chip, found->program).empty());
  }
}

TEST(Search, NeverGetsWorseFromBasicToStaticToElk) {
  Random random{41};
  int models = 0;
  int better = 0;
  for (int round = 0; round < test::rounds(45); ++round) {
    const ir::Graph graph = test::random_graph(random);
    const chip::Chip chip = test::random_chip(random);
    const std::optional<Found> basic = result(graph, chip, Policy::Basic);
    const std::optional<Found> split = result(graph, chip, Policy::Static);
    const std::optional<Found> dynamic = result(graph, chip, Policy::ElkDyn);
    const std::optional<Found> full = result(graph, chip, Policy::ElkFull);
    EXPECT_LE(basic.has_value(), split.has_value());
    EXPECT_LE(split.has_value(), dynamic.has_value());
    EXPECT_EQ(dynamic.has_value(), full.has_value());
    if (!basic) {
      continue;
    }
    ++models;
    better += dynamic->times.total < basic->times.total ? 1 : 0;
    EXPECT_LE(split->times.total, basic->times.total) << "round " << round;
    EXPECT_LE(dynamic->times.total, split->times.total) << "round " << round;
    EXPECT_LE(full->times.total, dynamic->times.total) << "round " << round;
    EXPECT_LE(full->times.total, full->raw);
  }
  EXPECT_GT(models, test::rounds(30));
  EXPECT_GT(better, test::rounds(10));
}

TEST(Search, GivesSoundProgramsThatAgreeWithTheirForecast) {
  const tile::TileModel tiles = test::analytic();
  Random random{43};
  for (int round = 0; round < 30; ++round) {
    const ir::Graph graph = test::random_graph(random);
    const chip::Chip chip = test::random_chip(random);
    Problem problem = test::problem(graph, chip, tiles);
    if (!test::all_fit(problem)) {
      continue;
    }
    std::optional<Found> found;
    try {
      found = search(problem,
                     {.policy = round % 3 == 0 ? Policy::Static : Policy::ElkDyn, .threads = 1});
    } catch (const Infeasible&) {
      continue;
    }
    EXPECT_EQ(program::check(graph, chip, found->program), (std::vector<std::string>{}))
        << "round " << round;
    const std::vector<Bytes> occupied =
        program::occupancy(found->program.buffers, found->program.code.size());
    EXPECT_EQ(occupied, found->occupancy);
    EXPECT_LE(*std::max_element(occupied.begin(), occupied.end()), chip::room(chip));
    const Situation now = situation(problem, found->schedule.ops);
    EXPECT_EQ(timing(problem, now, problem.loaded(), found->schedule.issued_before).total,
              found->times.total);
  }
}

/// 32 x 5,120 between two matmuls, on `cores` of 624 KiB.
Found row_sum_between_matmuls(std::int64_t cores) {
  test::Net net;
  TensorId x = net.tensor(ir::Home::Input, {32, 512});
  x = TensorId{net.add(test::matmul(32, 5120, 512), {x})};
  const TensorId sum{net.add(test::row_sum(32, 5120), {x})};
  net.add(test::exp_of(32, 5120), {x}, ir::Home::Output);
  net.graph.outputs.push_back(sum);
  const ir::Graph graph = net.done();
  const std::optional<Found> found =
      result(graph, test::tight_chip(cores, 624 << 10), Policy::ElkDyn);
  return *found;
}

TEST(Search, DoesNotForceASmallRowSumOntoMostCores) {
  const Found few = row_sum_between_matmuls(64);
  const Found many = row_sum_between_matmuls(512);
  const auto seconds = [](const Found& found) {
    return (found.times.executes[OpId{1}].end - found.times.executes[OpId{1}].begin).value;
  };
  EXPECT_LE(seconds(many), seconds(few) * 1.01);
  const Table<AxisId, std::int64_t>& factors = many.program.ops[OpId{1}].execute.factors;
  EXPECT_LT(factors[AxisId{1}], 286) << "pieces a row";
}

TEST(Search, AddsPartialResultsOnlyWhereThatPaysForItself) {
  test::OneOp one = test::row_sum(32, 5120);
  const chip::Chip chip = test::tight_chip(512, 624 << 10);
  const tile::TileModel tiles = test::analytic();
  const Problem problem = test::problem(one.graph, chip, tiles);
  const Staircase stairs = staircase(problem.front(OpId{0}), contention(problem));
  const cost::PlanOption& chosen = problem.option(OpId{0}, stairs.front().choice);
  EXPECT_LT(chosen.reduce.time.value, 0.5 * chosen.time.value);
}

TEST(Search, SaysWhichOpDoesNotFitBesideWhatMustStay) {
  // Each op fits alone; the first result must stay while a chain of others runs.
  test::Net net;
  TensorId x = net.tensor(ir::Home::Input, {64, 64});
  const TensorId kept{net.add(test::exp_of(64, 64), {x})};
  x = TensorId{net.add(test::exp_of(64, 64), {kept})};
  x = TensorId{net.add(test::add_of(64, 64), {x, kept})};
  const TensorId again{net.add(test::exp_of(64, 64), {x})};
  const TensorId third{net.add(test::add_of(64, 64), {again, x})};
  net.add(test::add_of(64, 64), {third, kept}, ir::Home::Output);
  const ir::Graph graph = net.done();
  const chip::Chip chip = test::tight_chip(4, 3 * 64 * 64 * 2 / 4 + 512);
  const tile::TileModel tiles = test::analytic();
  Problem problem = test::problem(graph, chip, tiles);
  ASSERT_TRUE(test::all_fit(problem));
  try {
    (void)search(problem, {.policy = Policy::ElkDyn, .threads = 1});
    FAIL() << "four tensors of a quarter of SRAM each are alive at op 4";
  } catch (const Infeasible& error) {
    EXPECT_EQ(error.code(), "sram_overflow");
    EXPECT_NE(std::string(error.what()).find("'op"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(std::to_string(chip::room(chip).value)),
              std::string::npos);
  }
}

TEST(Search, KeepsWeightsOnAChipWithoutHbm) {
  for (const std::int64_t sram : {12288, 65536}) {
    const ir::Graph graph = test::chain(8, 8, 64, true);
    const chip::Chip chip = test::without_hbm(test::tight_chip(16, sram));
    const std::optional<Found> found = result(graph, chip, Policy::ElkDyn);
    ASSERT_TRUE(found);
    EXPECT_EQ(program::check(graph, chip, found->program), (std::vector<std::string>{}));
    EXPECT_TRUE(found->schedule.preload_order.empty());
    for (const program::Instruction& step : found->program.code) {
      EXPECT_NE(step.opcode, program::Opcode::Preload);
    }
    const auto last = static_cast<std::int32_t>(found->program.code.size()) - 1;
    int kept = 0;
    for (const program::Buffer& buffer : found->program.buffers) {
      if (buffer.role == program::Role::Resident) {
        ++kept;
        EXPECT_EQ(buffer.from, 0);
        EXPECT_EQ(buffer.to, last);
      }
    }
    EXPECT_EQ(kept, 8);
  }
}

TEST(Search, SpeedsUpWithRoomForResidentWeights) {
  const ir::Graph graph = test::chain(8, 8, 64, true);
  std::vector<double> totals;
  for (const std::int64_t sram : {6144, 8192, 12288, 24576, 131072}) {
    const std::optional<Found> found =
        result(graph, test::without_hbm(test::tight_chip(16, sram)), Policy::ElkDyn);
    ASSERT_TRUE(found) << sram;
    totals.push_back(found->times.total.value);
  }
  EXPECT_LT(totals.back(), totals.front());
  for (std::size_t k = 1; k < totals.size(); ++k) {
    EXPECT_LE(totals[k], 1.01 * totals[k - 1]);
  }
}

}  // namespace
}  // namespace elk::schedule
