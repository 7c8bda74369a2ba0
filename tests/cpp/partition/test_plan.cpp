#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/plan.hpp"
#include "partition/ops.hpp"

namespace elk::partition {
namespace {

using test::matmul;
using test::small_chip;

using Numbers = Table<AxisId, std::int64_t>;

ExecutePlan plan_of(const test::OneOp& one, Numbers factors,
                    Table<OperandId, Table<DimId, std::int64_t>> temporal) {
  temporal.resize(one.op().operands.size());
  return *complete_plan(one.graph, one.op(), std::move(factors), std::move(temporal),
                        small_chip(64));
}

TEST(Footprint, AddsUpTilesInEights) {
  const test::OneOp one = matmul(32, 48, 64);
  const Footprint held =
      footprint(one.graph, one.op(), plan_of(one, {2, 3, 1}, {}), small_chip(64));
  EXPECT_EQ(held.operand[OperandId{0}], Bytes{16 * 64 * 2});
  EXPECT_EQ(held.operand[OperandId{1}], Bytes{64 * 16 * 2});
  EXPECT_EQ(held.operand[OperandId{2}], Bytes{16 * 16 * 2});
  EXPECT_EQ(held.rest, Bytes{16 * 16 * 2});
  EXPECT_EQ(held.space,
            held.operand[OperandId{0}] + held.operand[OperandId{1}] + held.operand[OperandId{2}]);
}

// T10, Figure 6: a tensor of 6 x 8 on 8 cores with f_s = [2, 1] is shared by 4; f_t = [1, 2] leaves
// parts of 3 x 4 in two rings, f_t = [1, 4] parts of 3 x 2 in one.
TEST(Footprint, SplitsTheTensorOfFigure6OverTime) {
  const test::OneOp one = matmul(6, 8, 8, ir::Home::Activation);
  const auto part = [&](std::int64_t parts) {
    return footprint(one.graph, one.op(), plan_of(one, {2, 4, 1}, {{1, parts}}), small_chip(64))
        .operand[OperandId{0}];
  };
  EXPECT_EQ(part(2), Bytes{24});  // 3 x 4 x 2
  EXPECT_EQ(part(4), Bytes{16});  // 3 x 2 x 2 = 12, in eights
  const auto rings = [&](std::int64_t parts) {
    return sharing(one.graph, one.op(), OperandId{0}, plan_of(one, {2, 4, 1}, {{1, parts}}),
                   small_chip(64))
        .copies;
  };
  EXPECT_EQ(rings(2), 2);
  EXPECT_EQ(rings(4), 1);
}

TEST(Footprint, HoldsAPartialResultAndRoomForThoseOfOthers) {
  test::OneOp one = matmul(32, 48, 64);
  one.op().accumulate = ir::DType::F32;
  const Footprint held =
      footprint(one.graph, one.op(), plan_of(one, {2, 3, 4}, {}), small_chip(64));
  EXPECT_EQ(held.operand[OperandId{2}], Bytes{(16 * 16 * 4) + (3 * 64 * 4)});
  EXPECT_EQ(held.rest, Bytes{64 * 2});
}

TEST(Footprint, KeepsASumThatGrowsOverStepsAtItsWidth) {
  test::OneOp one = matmul(32, 48, 64);
  one.op().accumulate = ir::DType::F32;
  const Footprint held =
      footprint(one.graph, one.op(), plan_of(one, {2, 3, 1}, {{1, 3}}), small_chip(64));
  EXPECT_EQ(held.operand[OperandId{2}], Bytes{16 * 16 * 4});
  EXPECT_EQ(held.rest, Bytes{16 * 16 * 2});
}

TEST(Footprint, CountsATensorThatIsNamedTwiceTheSameWayOnce) {
  test::OneOp one(ir::OpKind::Elementwise, "mul", {test::parallel("n", 64, ir::TileDim::Elements)});
  one.reads(ir::Home::Activation, {64}, {test::along(AxisId{0})})
      .writes({64}, {test::along(AxisId{0})});
  one.op().operands.insert(one.op().operands.begin(), one.op().operands.front());
  const Footprint held = footprint(one.graph, one.op(), plan_of(one, {4}, {}), small_chip(64));
  EXPECT_EQ(held.tensors.size(), 2U);
  EXPECT_EQ(held.space, Bytes{64});
}

TEST(Scatter, CutsTheDimensionThatGivesTheSmallestPieces) {
  EXPECT_EQ(scatter(Table<DimId, std::int64_t>{6, 8}, 4, 0).dim, DimId{1});
  EXPECT_EQ(scatter(Table<DimId, std::int64_t>{6, 8}, 4, 0).piece, 12);
  EXPECT_EQ(scatter(Table<DimId, std::int64_t>{6, 8}, 4, 0).runs, 6);
  EXPECT_EQ(scatter(Table<DimId, std::int64_t>{6, 8}, 2, 0).dim, DimId{0});
  EXPECT_EQ(scatter(Table<DimId, std::int64_t>{6, 8}, 1, 0).dim, DimId::none);
}

TEST(Scatter, CutsAnOuterDimensionWhereRunsTakeLongerThanTheElementsSpared) {
  // By rows: 2 x 128 elements in one run; by columns: 15 x 16 in 15.
  EXPECT_EQ(scatter(Table<DimId, std::int64_t>{15, 128}, 8, 0).dim, DimId{1});
  EXPECT_EQ(scatter(Table<DimId, std::int64_t>{15, 128}, 8, 1).dim, DimId{1});
  EXPECT_EQ(scatter(Table<DimId, std::int64_t>{15, 128}, 8, 2).dim, DimId{0});
  EXPECT_EQ(scatter(Table<DimId, std::int64_t>{15, 128}, 8, 2).piece, 256);
  EXPECT_EQ(scatter(Table<DimId, std::int64_t>{15, 128}, 8, 2).runs, 1);
}

TEST(Scatter, CountsARunAsWhatALinkCarriesInItsTime) {
  chip::Chip chip = small_chip(8);
  chip.interconnect.link_rate = 5.5e9;
  chip.interconnect.fragment_latency = {2.2e-9};
  EXPECT_EQ(elements_of_run(16, chip), 6);
  EXPECT_EQ(elements_of_run(32, chip), 3);
  chip.interconnect.fragment_latency = {0.0};
  EXPECT_EQ(elements_of_run(16, chip), 0);
}

TEST(CoreOrder, PutsReductionsInsideAndTheAxesOfHbmDataOutside) {
  const test::OneOp one = matmul(32, 48, 64);
  EXPECT_EQ(core_order(one.graph, one.op(), {2, 3, 4}),
            (std::vector<AxisId>{AxisId{1}, AxisId{0}, AxisId{2}}));
}

TEST(PreloadPiece, IsAShareInEights) {
  EXPECT_EQ(preload_piece({100}, 1), Bytes{104});
  EXPECT_EQ(preload_piece({100}, 3), Bytes{40});
}

}  // namespace
}  // namespace elk::partition
