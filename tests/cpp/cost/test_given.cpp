#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "elk/cost/front/given.hpp"
#include "elk/partition/enumerate.hpp"
#include "partition/ops.hpp"
#include "schedule/models.hpp"

namespace elk::cost {
namespace {

using Divisors = std::vector<std::int64_t>;
using Numbers = Table<AxisId, std::int64_t>;
using Temporal = Table<OperandId, Table<DimId, std::int64_t>>;

const chip::Chip kChip = test::small_chip(16);

partition::ExecutePlan plan_of(const test::OneOp& one, Numbers factors, Temporal temporal) {
  return partition::complete_plan(one.graph, one.op(), std::move(factors), std::move(temporal),
                                  kChip)
      .value();
}

Front searched(const test::OneOp& one) {
  return front(one.graph, one.op(), kChip, test::analytic(), {});
}

Front given(const test::OneOp& one, const std::vector<partition::ExecutePlan>& plans) {
  const Front all = searched(one);
  return given_front(one.graph, one.op(), kChip, test::analytic(),
                     {.plans = plans, .searched = all});
}

void expect_equal(const Floor& a, const Floor& b) {
  EXPECT_EQ(a.execute, b.execute);
  EXPECT_EQ(a.compute, b.compute);
  EXPECT_EQ(a.link, b.link);
  EXPECT_EQ(a.hbm_bytes, b.hbm_bytes);
  EXPECT_EQ(a.corners, b.corners);
  EXPECT_EQ(a.port_uses, b.port_uses);
  EXPECT_EQ(a.layout_floor == nullptr, b.layout_floor == nullptr);
  EXPECT_EQ(a.sram_floors, b.sram_floors);
}

TEST(GivenFront, HasEveryPlanOnceByTimeThoughAnotherIsBetterInAll) {
  const test::OneOp one = test::matmul(8, 32, 64);
  const Temporal whole(3);
  const partition::ExecutePlan poor = plan_of(one, {1, 1, 1}, whole);
  const partition::ExecutePlan good = plan_of(one, {8, 2, 1}, whole);
  const Front front = given(one, {poor, good, poor});
  ASSERT_EQ(front.options.size(), 2U);
  EXPECT_EQ(front.options[0].plan, good);
  EXPECT_EQ(front.options[1].plan, poor);
  EXPECT_LT(front.options[0].footprint.space, front.options[1].footprint.space);
  EXPECT_EQ(front.fastest, 0);
  EXPECT_TRUE(front.given);
  EXPECT_EQ(front.counts.complete, 2);
  EXPECT_EQ(front.counts.pareto, 2);
  EXPECT_EQ(front.smallest, front.options[0].footprint.space);
}

TEST(GivenFront, HasEveryPreloadStateOfAPlan) {
  const test::OneOp one = test::matmul(8, 32, 64);
  const Front front = given(one, {plan_of(one, {8, 2, 1}, Temporal(3))});
  std::vector<std::int64_t> divisors;
  for (const PreloadState& state : front.options[0].states) {
    divisors.push_back(state.divisor[OperandId{1}]);
  }
  EXPECT_EQ(divisors, (Divisors{1, 2, 4, 8}));
}

// The bound over a whole space holds for each part of it, plans in several dimensions included.
TEST(GivenFront, HasTheFloorOfTheWholeSpace) {
  const test::OneOp one = test::matmul(8, 32, 64);
  const Front all = searched(one);
  const partition::ExecutePlan plan = plan_of(one, {4, 4, 1}, {{}, {2, 2}, {}});
  ASSERT_TRUE(std::none_of(all.options.begin(), all.options.end(),
                           [&](const PlanOption& option) { return option.plan == plan; }));
  expect_equal(given(one, {plan}).floor, all.floor);
}

TEST(GivenFront, LowersTheFloorToStepsThatNoSearchTakes) {
  const test::OneOp one = test::matmul(8, 32, 64);
  partition::ExecutePlan plan = plan_of(one, {4, 4, 1}, {{}, {4, 1}, {}});
  ASSERT_GT(plan.pace[AxisId{2}], 1);
  plan.pace[AxisId{2}] = 1;
  const Front front = given(one, {plan});
  const PlanOption& option = front.options[0];
  EXPECT_EQ(option.steps, 64);
  EXPECT_LE(front.floor.execute, option.compute + option.reduce.time);
  EXPECT_EQ(front.floor.layout_floor, nullptr);
  EXPECT_TRUE(std::any_of(front.floor.corners.begin(), front.floor.corners.end(),
                          [&](const Corner& corner) { return corner.link == Bytes{0}; }));
}

}  // namespace
}  // namespace elk::cost
