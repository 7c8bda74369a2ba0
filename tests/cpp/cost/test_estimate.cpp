#include <cstddef>

#include <gtest/gtest.h>

#include "cost/naive.hpp"
#include "elk/cost/front/estimate.hpp"
#include "elk/cost/front/front.hpp"
#include "elk/cost/option.hpp"
#include "elk/cost/price/price.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/plan.hpp"
#include "elk/tile/rate.hpp"

namespace elk::cost {
namespace {

using test::OneOp;
using test::small_chip;

tile::TileModel plain_tiles() {
  return tile::TileModel(
      {}, {.call_cycles = 120.0, .sram_bytes_per_cycle = 16.0, .vector_elements_per_cycle = 2.0});
}

/// The time of the estimate over that of the fastest of all plans.
double over_fastest(const OneOp& one, const chip::Chip& chip) {
  const Front all = front(one.graph, one.op(), chip, plain_tiles(), {});
  const double fastest = all.options[static_cast<std::size_t>(all.fastest)].time.value;
  return estimate(one.graph, one.op(), chip, plain_tiles()).time.value / fastest;
}

TEST(Estimate, IsThatOfAPlanAndNearTheFastest) {
  const chip::Chip chip = small_chip(48);
  for (const OneOp& one :
       {test::matmul(32, 48, 64), test::matmul(7, 130, 33), test::matmul(1, 512, 512),
        test::softmax(24, 96), test::softmax(3, 1024)}) {
    const double ratio = over_fastest(one, chip);
    EXPECT_GE(ratio, 1.0) << one.op().function;
    EXPECT_LE(ratio, 1.2) << one.op().function;
  }
}

TEST(Estimate, OnAMeshCutsNoMoreAxesThanItHas) {
  chip::Chip chip = small_chip(48);
  chip.interconnect.topology = chip::Topology::Mesh2d;
  chip.core.rows = 6;
  chip.core.cols = 8;
  for (const OneOp& one : {test::matmul(32, 48, 64), test::matmul(4, 256, 96),
                           test::matmul(1, 64, 512), test::softmax(24, 96)}) {
    const Front all = front(one.graph, one.op(), chip, plain_tiles(), {});
    EXPECT_GE(estimate(one.graph, one.op(), chip, plain_tiles()).time, all.floor.execute);
    EXPECT_LE(over_fastest(one, chip), 1.2) << one.op().function;
  }
}

TEST(Estimate, OfWhatFitsNoCoreIsStillATime) {
  chip::Chip chip = small_chip(4);
  chip.core.sram = chip.core.reserved + Bytes{64};
  const OneOp one = test::matmul(32, 48, 64);
  EXPECT_GT(estimate(one.graph, one.op(), chip, plain_tiles()).time.value, 0.0);
}

TEST(Estimate, NeedsOfAPlanAllButItsStates) {
  const chip::Chip chip = small_chip(48);
  const OneOp one = test::matmul(32, 48, 64);
  const tile::TileModel tiles = plain_tiles();
  Pricer pricer(one.graph, one.op(), chip, tiles);
  const auto plan = partition::complete_plan(one.graph, one.op(), {4, 6, 2}, {{}, {}, {}}, chip);
  const PlanOption whole = price(one.graph, one.op(), *plan, chip, pricer);
  const PlanOption execute = price_execute(one.graph, one.op(), *plan, pricer);
  EXPECT_FALSE(whole.states.empty());
  EXPECT_TRUE(execute.states.empty());
  EXPECT_EQ(execute.time, whole.time);
  EXPECT_EQ(execute.gather, whole.gather);
  EXPECT_EQ(execute.footprint.space, whole.footprint.space);
}

TEST(TileRates, OfAWholeOpNeedNotKnowWhatStepsGain) {
  const chip::Chip chip = small_chip(48);
  for (const OneOp& one : {test::matmul(32, 48, 64), test::softmax(3, 1024)}) {
    const tile::TileModel tiles = plain_tiles();
    tile::TileTimes times(one.graph, one.op(), chip, tiles);
    const tile::TileRates rates(one.op(), times);
    EXPECT_GT(rates.least(partition::sizes(one.op())), 0.0);
    EXPECT_EQ(tile::TileRates::least_whole(one.op(), times),
              rates.least(partition::sizes(one.op())));
  }
}

}  // namespace
}  // namespace elk::cost
