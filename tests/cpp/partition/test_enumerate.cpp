#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/enumerate.hpp"
#include "partition/ops.hpp"

namespace elk::partition {
namespace {

using test::matmul;
using test::small_chip;

using Numbers = Table<AxisId, std::int64_t>;

TEST(DistinctFactors, AreTheFirstOfEveryTileSize) {
  for (const std::int64_t size : {1, 2, 7, 12, 100, 129}) {
    for (const std::int64_t limit : {1, 5, 64, 200}) {
      Numbers expected;
      std::int64_t tile = size + 1;
      for (std::int64_t f = 1; f <= limit; ++f) {
        if (ceil_div(size, f) < tile) {
          tile = ceil_div(size, f);
          expected.push_back(f);
        }
      }
      EXPECT_EQ(distinct_factors(size, limit), expected) << size << " up to " << limit;
    }
  }
}

TEST(TemporalFactors, DivideTheSharersAndGiveDifferentPartitions) {
  EXPECT_EQ(temporal_factors(8, 6), (Numbers{1, 2, 3, 6}));
  EXPECT_EQ(temporal_factors(2, 6), (Numbers{1, 2}));
  EXPECT_EQ(temporal_factors(1, 6), (Numbers{1}));
  EXPECT_EQ(temporal_factors(9, 7), (Numbers{1, 7}));
}

// T10, Figure 3 (c): the weights of a product on two cores are cut along n over time.
TEST(CompletePlan, RotatesTheWeightsOfFigure3InTwoSteps) {
  const test::OneOp one = matmul(2, 2, 4);
  const auto plan = complete_plan(one.graph, one.op(), {2, 1, 1}, {{}, {1, 2}, {}}, small_chip(2));
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->pace, (Numbers{0, 1, 0}));
  EXPECT_EQ(plan->loops, (std::vector<AxisId>{AxisId{1}}));
  EXPECT_EQ(tiling(one.op(), *plan).steps, 2);
  EXPECT_EQ(tiling(one.op(), *plan).sub_task, (Numbers{1, 1, 4}));
}

// T10, Figure 7: A and B of a product cut 2 x 3 rotate along k in parts of 2 and 3 of 6.
TEST(CompletePlan, AlignsThePacesOfFigure7) {
  const test::OneOp one = matmul(2, 3, 6);
  const auto plan =
      complete_plan(one.graph, one.op(), {2, 3, 1}, {{1, 3}, {2, 1}, {}}, small_chip(6));
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->pace, (Numbers{0, 0, 2}));
  EXPECT_EQ(tiling(one.op(), *plan).steps, 3);
  EXPECT_EQ(tiling(one.op(), *plan).sub_task, (Numbers{1, 1, 2}));
}

// T10, Figure 10: a product of 3 x 3 x 3 on 3 x 3 cores, both operands in rings of three.
TEST(CompletePlan, RotatesBothOperandsOfFigure10Together) {
  const test::OneOp one = matmul(3, 3, 3);
  const auto plan =
      complete_plan(one.graph, one.op(), {3, 3, 1}, {{1, 3}, {3, 1}, {}}, small_chip(9));
  ASSERT_TRUE(plan.has_value());
  const Footprint held = footprint(one.graph, one.op(), *plan, small_chip(9));
  EXPECT_EQ(tiling(one.op(), *plan).steps, 3);
  EXPECT_EQ(held.space, Bytes{3 * 8});  // One f16 of A, B and C each, in eights.
}

TEST(CompletePlan, PutsTheLoopOfTheSmallerTensorInside) {
  const test::OneOp one = matmul(8, 64, 4);
  const auto plan =
      complete_plan(one.graph, one.op(), {2, 2, 1}, {{2, 1}, {1, 2}, {}}, small_chip(4));
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->loops, (std::vector<AxisId>{AxisId{1}, AxisId{0}}));  // The weights hold more.
}

TEST(CompletePlan, FitsTwoAxesOnAGridAndNoMore) {
  chip::Chip chip = small_chip(12);
  chip.interconnect.topology = chip::Topology::Mesh2d;
  chip.core.rows = 4;
  chip.core.cols = 3;
  const test::OneOp one = matmul(8, 8, 8);
  const Table<OperandId, Table<DimId, std::int64_t>> whole(3);
  const auto fits = complete_plan(one.graph, one.op(), {3, 4, 1}, whole, chip);
  ASSERT_TRUE(fits.has_value());
  EXPECT_EQ(fits->mesh_dims, (std::vector<std::int32_t>{1, 0, -1}));
  EXPECT_FALSE(complete_plan(one.graph, one.op(), {4, 4, 1}, whole, chip).has_value());
  EXPECT_FALSE(complete_plan(one.graph, one.op(), {2, 2, 2}, whole, chip).has_value());
}

TEST(CompletePlan, FitsOneAxisOnARing) {
  chip::Chip chip = small_chip(12);
  chip.interconnect.topology = chip::Topology::Ring;
  const test::OneOp one = matmul(8, 12, 8);
  const Table<OperandId, Table<DimId, std::int64_t>> whole(3);
  const auto fits = complete_plan(one.graph, one.op(), {1, 12, 1}, whole, chip);
  ASSERT_TRUE(fits.has_value());
  EXPECT_EQ(fits->mesh_dims, (std::vector<std::int32_t>{-1, 1, -1}));
  EXPECT_FALSE(complete_plan(one.graph, one.op(), {2, 6, 1}, whole, chip).has_value());
}

}  // namespace
}  // namespace elk::partition
