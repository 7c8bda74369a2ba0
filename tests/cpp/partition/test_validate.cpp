#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/plan.hpp"
#include "partition/ops.hpp"

namespace elk::partition {
namespace {

using test::small_chip;

class ValidatePlan : public ::testing::Test {
 protected:
  void SetUp() override {
    plan_ = *complete_plan(one_.graph, one_.op(), {2, 3, 1}, {{1, 3}, {2, 1}, {}}, chip_);
  }
  void refuses() const {
    EXPECT_THROW(validate(one_.graph, one_.op(), plan_, chip_), InvalidInput);
  }

  test::OneOp one_ = test::matmul(4, 6, 6);
  chip::Chip chip_ = small_chip(12);
  ExecutePlan plan_;
};

TEST_F(ValidatePlan, AcceptsACompletedPlan) {
  EXPECT_NO_THROW(validate(one_.graph, one_.op(), plan_, chip_));
}

TEST_F(ValidatePlan, RefusesFactorsThatLeaveCoresIdle) {
  plan_.factors = {3, 3, 1};  // Tiles of two rows: the third has none.
  refuses();
}

TEST_F(ValidatePlan, RefusesMoreCoresThanThereAre) {
  plan_.factors = {4, 6, 1};
  refuses();
}

TEST_F(ValidatePlan, RefusesProductsThatDoNotFitTheirType) {
  constexpr std::int64_t kLong = std::int64_t{1} << 27;
  test::OneOp one = test::matmul(kLong, kLong, 2);
  ExecutePlan plan{.factors = {kLong, kLong, 1},
                   .temporal = {{}, {}, {}},
                   .pace = {0, 0, 0},
                   .order = {AxisId{0}, AxisId{1}},
                   .loops = {},
                   .mesh_dims = {-1, -1, -1}};
  EXPECT_THROW(validate(one.graph, one.op(), plan, chip_), InvalidInput);
  plan_.temporal[OperandId{0}] = {1, std::numeric_limits<std::int64_t>::max()};
  refuses();
}

TEST_F(ValidatePlan, RefusesPacesAndMeshDimensionsBelowTheirLeast) {
  plan_.pace[AxisId{0}] = -3;
  refuses();
  SetUp();
  plan_.mesh_dims[AxisId{2}] = -5;
  refuses();
}

TEST_F(ValidatePlan, RefusesPartsThatDoNotDivideTheSharers) {
  plan_.temporal[OperandId{0}] = {1, 2};
  refuses();
}

TEST_F(ValidatePlan, AcceptsAnOperandThatRotatesAlongSeveralDimensions) {
  const test::OneOp one = test::matmul(4, 4, 8);
  const auto with = [&](Table<AxisId, std::int64_t> parts) {
    const auto plan =
        complete_plan(one.graph, one.op(), {4, 1, 1}, {{}, std::move(parts), {}}, chip_);
    validate(one.graph, one.op(), *plan, chip_);
  };
  EXPECT_NO_THROW(with({4, 1}));
  EXPECT_NO_THROW(with({1, 4}));
  EXPECT_NO_THROW(with({2, 2}));
  EXPECT_THROW(with({4, 2}), InvalidInput);  // Eight parts among four cores.
}

// y[r, c, d] = x[r, c, d] + a[c, d] + b[d]: the cores that share a piece of `a` share one of `b`.
TEST_F(ValidatePlan, RefusesPartitionsThatWouldNotMeet) {
  test::OneOp one(
      ir::OpKind::Elementwise, "add",
      {test::parallel("r", 4, ir::TileDim::Rows), test::parallel("c", 6, ir::TileDim::Cols),
       test::parallel("d", 8, ir::TileDim::Cols)});
  one.reads(ir::Home::Activation, {4, 6, 8},
            {test::along(AxisId{0}), test::along(AxisId{1}), test::along(AxisId{2})})
      .reads(ir::Home::Weight, {6, 8}, {test::along(AxisId{1}), test::along(AxisId{2})})
      .reads(ir::Home::Weight, {8}, {test::along(AxisId{2})})
      .writes({4, 6, 8}, {test::along(AxisId{0}), test::along(AxisId{1}), test::along(AxisId{2})});
  const auto with = [&](Table<AxisId, std::int64_t> a, Table<AxisId, std::int64_t> b) {
    auto plan =
        complete_plan(one.graph, one.op(), {4, 1, 1}, {{}, std::move(a), std::move(b), {}}, chip_);
    std::sort(plan->loops.begin(), plan->loops.end());  // d is the inner loop.
    validate(one.graph, one.op(), *plan, chip_);
  };
  EXPECT_NO_THROW(with({2, 2}, {1}));
  EXPECT_NO_THROW(with({2, 2}, {2}));
  EXPECT_NO_THROW(with({1, 4}, {4}));
  EXPECT_THROW(with({1, 2}, {4}), InvalidInput);
  EXPECT_THROW(with({2, 2}, {4}), InvalidInput);  // Quarters beside halves.
}

TEST_F(ValidatePlan, RefusesAnOperandThatRotatesTwiceAlongOneAxis) {
  test::OneOp one(
      ir::OpKind::Elementwise, "diagonal",
      {test::parallel("r", 4, ir::TileDim::Rows), test::parallel("c", 8, ir::TileDim::Cols)});
  one.reads(ir::Home::Weight, {8, 8}, {test::along(AxisId{1}), test::along(AxisId{1})})
      .writes({4, 8}, {test::along(AxisId{0}), test::along(AxisId{1})});
  const auto plan = complete_plan(one.graph, one.op(), {4, 1}, {{2, 2}, {}}, chip_);
  EXPECT_THROW(validate(one.graph, one.op(), *plan, chip_), InvalidInput);
}

TEST_F(ValidatePlan, RefusesAPaceLongerThanAPartition) {
  plan_.pace[AxisId{2}] = 3;
  refuses();
}

TEST_F(ValidatePlan, RefusesAnOrderThatForgetsACutAxis) {
  plan_.order = {AxisId{1}};
  refuses();
}

TEST_F(ValidatePlan, RefusesToCutAnOpaqueOpAlongItsRow) {
  test::OneOp sort(
      ir::OpKind::Opaque, "sort",
      {test::parallel("r", 4, ir::TileDim::Elements), test::row("c", 4, ir::TileDim::Elements)});
  sort.reads(ir::Home::Activation, {4, 4}, {test::along(AxisId{0}), test::along(AxisId{1})})
      .writes({4, 4}, {test::along(AxisId{0}), test::along(AxisId{1})});
  const auto plan = complete_plan(sort.graph, sort.op(), {1, 2}, {{}, {}}, chip_);
  EXPECT_THROW(validate(sort.graph, sort.op(), *plan, chip_), InvalidInput);
}

}  // namespace
}  // namespace elk::partition
