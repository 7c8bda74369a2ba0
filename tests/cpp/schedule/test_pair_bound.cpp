#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rounds.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/table.hpp"
#include "elk/cost/front/front.hpp"
#include "elk/schedule/bound/bounds.hpp"
#include "elk/schedule/bound/neighbour_bound.hpp"
#include "elk/schedule/bound/pair_bound.hpp"
#include "schedule/every_cut.hpp"
#include "schedule/exhaustive.hpp"
#include "schedule/problems.hpp"

namespace elk::schedule {
namespace {

/// A product of 4 x 8 x 8 behind another, with an op between them, on cores with 1,000 bytes and a
/// port of a byte a nanosecond. What both need is made up.
PairBound made_up(std::vector<cost::SramFloor> first, std::vector<cost::SramFloor> second,
                  double between, double load) {
  test::Net net;
  TensorId x = net.tensor(ir::Home::Input, {4, 8});
  x = TensorId{net.add(test::matmul(4, 8, 8), {x})};
  x = TensorId{net.add(test::exp_of(4, 8), {x})};
  net.add(test::matmul(4, 8, 8), {x}, ir::Home::Output);
  const ir::Graph graph = net.done();
  chip::Chip chip = test::tight_chip(4, 1000);
  chip.interconnect.link_rate = 1e9;
  const tile::TileModel tiles = test::analytic();
  std::vector<cost::Front> fronts(3);
  fronts[0].floor.sram_floors = std::move(first);
  fronts[2].floor.sram_floors = std::move(second);
  for (const OpId op : {id_at<OpId>(std::size_t{0}), id_at<OpId>(std::size_t{2})}) {
    fronts[op.index()].floor.execute = fronts[op.index()].floor.sram_floors.front().execute;
  }
  fronts[1].floor.execute = {between};
  const Problem problem(graph, chip, tiles, fronts, {0, 1, 2});
  return pair_bound(problem, {0.0, 0.0, load}, 1.0);
}

cost::SramFloor cut(double time, std::int64_t loaded, std::int64_t beside) {
  return {.execute = {time}, .loaded = {loaded}, .beside = {beside}, .factors = {}};
}

TEST(PairBound, TakesTheCheapestWayOutWhereTwoDoNotFit) {
  const auto gain = [](std::vector<cost::SramFloor> first, double between, double load) {
    return made_up(std::move(first), {cut(2e-6, 400, 50)}, between, load).gain.value;
  };
  // 600 + 100 + 400 bytes: 100 too many, which come over the port.
  EXPECT_NEAR(gain({cut(1e-6, 600, 100)}, 0.0, 0.0), 0.1e-6, 1e-12);
  // Cuts that take longer may fit.
  EXPECT_NEAR(gain({cut(1e-6, 600, 100), cut(1.06e-6, 500, 100)}, 0.0, 0.0), 0.06e-6, 1e-12);
  // The op between them may hide all but 50 bytes of the preload.
  EXPECT_NEAR(gain({cut(1e-6, 600, 100)}, 0.35e-6, 0.0), 0.05e-6, 1e-12);
  // Unless the HBM takes longer.
  EXPECT_NEAR(gain({cut(1e-6, 600, 100)}, 0.35e-6, 0.42e-6), 0.07e-6, 1e-12);
}

TEST(PairBound, SaysNothingWhereBothFit) {
  EXPECT_TRUE(made_up({cut(1e-6, 500, 100)}, {cut(2e-6, 400, 50)}, 0.0, 0.0).ops.empty());
  EXPECT_TRUE(made_up({cut(1e-6, 600, 100)}, {cut(2e-6, 400, 50)}, 1e-6, 0.0).ops.empty());
}

// 100 bytes too many cost 100 ns, which may be added to what trees know of the rest.
TEST(PairBound, TellsWhatElseMayCount) {
  const PairBound pairs = made_up({cut(1e-6, 600, 100)}, {cut(2e-6, 400, 50)}, 0.1e-6, 0.0);
  EXPECT_NEAR(pairs.gain.value, 0.1e-6, 1e-12);
  EXPECT_EQ(pairs.ops, (std::vector<OpId>{OpId{0}, OpId{1}, OpId{2}}));
  ASSERT_EQ(pairs.extra.size(), 3);
  for (const std::size_t end : {std::size_t{0}, std::size_t{2}}) {
    EXPECT_NEAR(pairs.extra[id_at<OpId>(end)].free, 0.1e-6, 1e-12);
    EXPECT_GT(pairs.extra[id_at<OpId>(end)].most, 1.0);
  }
  // The preload takes 400 ns: 100 more than 300, or what lies between and twice as much beside.
  EXPECT_EQ(pairs.extra[OpId{1}].free, 0.0);
  EXPECT_NEAR(pairs.extra[OpId{1}].most, 0.1e-6, 1e-12);
  // Where it hides but for 50 ns, all that the op between takes longer hides more.
  const PairBound hidden = made_up({cut(1e-6, 600, 100)}, {cut(2e-6, 400, 50)}, 0.35e-6, 0.0);
  EXPECT_NEAR(hidden.gain.value, 0.05e-6, 1e-12);
  EXPECT_EQ(hidden.extra[OpId{1}].most, 0.0);
}

/// Of four cores, where links are slow for copies of weights and the HBM is not.
chip::Chip slow_links(Random& random, std::int64_t sram) {
  chip::Chip chip = test::tight_chip(4, sram);
  chip.hbm->rate = 1e12;
  chip.hbm->port_rate = 1e12;
  chip.hbm->latency = {1e-12};
  chip.interconnect.link_rate = test::one_of<double, 3>(random, {1e9, 4e9, 1e10});
  chip.interconnect.sync_latency = {1e-9};
  return chip;
}

PairBound pairs_of(const Problem& problem) {
  return pair_bound(problem, Table<OpId, double>(subscript(problem.op_count()), 0.0), 1.0);
}

double floors(const Problem& problem, const std::vector<OpId>& ops) {
  double sum = 0.0;
  for (const OpId op : ops) {
    sum += problem.front(op).floor.execute.value;
  }
  return sum;
}

// Copies of weights make executes short where links are slow, and have no room where SRAM is small.
TEST(PairBound, LiesBelowEveryChoiceOnTinyModels) {
  const tile::TileModel tiles = test::analytic();
  Random random{67};
  int higher = 0;
  double nearest = 0.0;
  for (int round = 0; round < 120; ++round) {
    const ir::Graph graph = test::two_products(random);
    const chip::Chip chip = slow_links(random, 300 + (8 * random.below(50)));
    Problem problem = test::problem(graph, chip, tiles);
    const PairBound pairs = pairs_of(problem);
    const double each = floors(problem, pairs.ops);
    test::add_cuts(problem, true);
    test::Exhaustive all(problem);
    const double least = all.least();
    if (all.tried() == 0 || pairs.ops.empty()) {
      continue;
    }
    const double time = each + pairs.gain.value;
    higher += time > each * (1.0 + 1e-6) ? 1 : 0;
    EXPECT_LE(time, all.least_stretch()) << "round " << round;
    EXPECT_LE(bounds(problem, {0.0}).lower_bound.value, least) << "round " << round;
    nearest = std::max(nearest, time / all.least_stretch());
  }
  EXPECT_GT(higher, 25);
  EXPECT_GT(nearest, 0.95);
}

/// A product behind another, and its rows normalized.
ir::Graph normalized_product(Random& random) {
  const std::int64_t rows = test::one_of<std::int64_t, 3>(random, {2, 4, 6});
  const std::int64_t width = test::one_of<std::int64_t, 3>(random, {4, 6, 8});
  test::Net net;
  TensorId x = net.tensor(ir::Home::Input, {rows, width});
  x = TensorId{net.add(test::matmul(rows, width, width), {x})};
  x = TensorId{net.add(test::matmul(rows, width, width), {x})};
  net.add(test::softmax(rows, width), {x}, ir::Home::Output);
  return net.done();
}

// What neighbours add, and what two of them add that do not fit, both count.
TEST(PairBound, CountsBesideTrees) {
  const tile::TileModel tiles = test::analytic();
  Random random{83};
  int more = 0;
  double nearest = 0.0;
  for (int round = 0; round < test::rounds(250); ++round) {
    const ir::Graph graph = normalized_product(random);
    chip::Chip chip = slow_links(random, 100 + (8 * random.below(40)));
    chip.interconnect.sync_latency = {test::one_of<double, 3>(random, {1e-9, 5e-9, 2e-8})};
    Problem problem = test::problem(graph, chip, tiles);
    const PairBound pairs = pairs_of(problem);
    const NeighbourBound trees = neighbour_bound(problem, NeighbourSum::Executes);
    const NeighbourBound rest = neighbour_bound(problem, NeighbourSum::Executes, pairs.extra);
    if (trees.ops.size() != graph.ops.size()) {
      continue;
    }
    const double alone = floors(problem, trees.ops) + pairs.gain.value;
    test::add_cuts(problem, true);
    test::Exhaustive all(problem);
    static_cast<void>(all.least());
    if (all.tried() == 0 || pairs.ops.empty()) {
      continue;
    }
    const double both = rest.time.value + pairs.gain.value;
    EXPECT_LE(both, all.least_stretch()) << "round " << round;
    more += both > 1.001 * std::max(trees.time.value, alone) ? 1 : 0;
    nearest = std::max(nearest, both / all.least_stretch());
  }
  EXPECT_GT(more, test::rounds(5));
  EXPECT_GT(nearest, 0.95);
}

}  // namespace
}  // namespace elk::schedule
