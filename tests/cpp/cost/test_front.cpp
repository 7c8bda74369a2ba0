#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cost/naive.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/cost/floor/floor.hpp"
#include "elk/cost/front/front.hpp"
#include "elk/cost/option.hpp"
#include "elk/cost/price/price.hpp"

namespace elk::cost {
namespace {

using test::NaivePlan;
using test::OneOp;
using test::small_chip;
using test::two_chips;

/// Every function by the declared rule: call, bytes and elements.
tile::TileModel analytic() {
  return tile::TileModel(
      {}, {.call_cycles = 120.0, .sram_bytes_per_cycle = 16.0, .vector_elements_per_cycle = 2.0});
}

chip::Chip mesh(std::int64_t rows, std::int64_t cols) {
  chip::Chip chip = small_chip(rows * cols);
  chip.interconnect.topology = chip::Topology::Mesh2d;
  chip.core.rows = rows;
  chip.core.cols = cols;
  return chip;
}

std::vector<NaivePlan> fitting(std::vector<NaivePlan> plans, const chip::Chip& chip) {
  std::erase_if(plans, [&](const NaivePlan& plan) { return plan.space > chip::room(chip).value; });
  return plans;
}

std::vector<NaivePlan> found(const Front& front) {
  std::vector<NaivePlan> plans;
  for (const PlanOption& option : front.options) {
    plans.push_back({.factors = option.plan.factors,
                     .temporal = option.plan.temporal,
                     .space = option.footprint.space.value,
                     .exchange = option.exchange.value,
                     .hbm = 0,
                     .time = option.time.value});
  }
  std::sort(plans.begin(), plans.end());
  return plans;
}

/// The search agrees with counting out: the same plans with the same space and exchange.
void expect_agreement(const OneOp& one, const chip::Chip& chip) {
  const tile::TileModel tiles = analytic();
  const std::vector<NaivePlan> all = test::naive_plans(one, chip, tiles);
  const std::vector<NaivePlan> fit = fitting(all, chip);
  const std::vector<NaivePlan> expected = test::naive_front(fit);
  const Front front = cost::front(one.graph, one.op(), chip, tiles, {});
  std::vector<NaivePlan> actual = found(front);
  ASSERT_EQ(front.counts.pareto, static_cast<std::int64_t>(expected.size()));
  EXPECT_EQ(front.counts.filtered, static_cast<std::int64_t>(fit.size()));
  EXPECT_GE(front.counts.complete, static_cast<std::int64_t>(all.size()));
  for (const NaivePlan& plan : expected) {
    const auto same = std::find(actual.begin(), actual.end(), plan);
    ASSERT_NE(same, actual.end());
    EXPECT_EQ(same->space, plan.space);
    EXPECT_EQ(same->exchange, plan.exchange);
    EXPECT_EQ(same->time, plan.time);
  }
  const auto least =
      std::min_element(all.begin(), all.end(),
                       [](const NaivePlan& a, const NaivePlan& b) { return a.space < b.space; });
  EXPECT_EQ(front.smallest, Bytes{least->space});
  const auto fastest =
      std::min_element(fit.begin(), fit.end(),
                       [](const NaivePlan& a, const NaivePlan& b) { return a.time < b.time; });
  EXPECT_EQ(front.options[static_cast<std::size_t>(front.fastest)].time.value, fastest->time);
}

struct Case {
  std::string name;
  OneOp one;
};

std::vector<Case> cases() {
  OneOp wide = test::matmul(4, 6, 8);
  wide.op().accumulate = ir::DType::F32;
  return {{"matmul", test::matmul(4, 6, 8)},
          {"matmul_of_activations", test::matmul(3, 5, 7, ir::Home::Activation)},
          {"matmul_with_wide_sums", wide},
          {"attention_with_appended_state", test::attention_scores(2, 2, 9, 4)},
          {"convolution", test::conv(4, 2, 4, 3, 1)},
          {"strided_convolution", test::conv(3, 2, 3, 3, 2)},
          {"bias", test::bias_add(6, 10)},
          {"gain_and_bias", test::scale_and_shift(6, 10)},
          {"spread_sum", test::spread_sum(3, 4, 8)},
          {"softmax", test::softmax(4, 24)},
          {"row_sum", test::row_sum(5, 30)},
          {"embedding", test::embedding(8, 20, 12)},
          {"copy", test::transposed_copy(6, 9)}};
}

class FrontOf : public ::testing::TestWithParam<std::size_t> {};

TEST_P(FrontOf, OneChipAgreesWithCountingOut) {
  expect_agreement(cases()[GetParam()].one, small_chip(12));
}

TEST_P(FrontOf, AChipWithLittleSramAgreesWithCountingOut) {
  chip::Chip chip = small_chip(12, 8192 + 120);
  expect_agreement(cases()[GetParam()].one, chip);
}

TEST_P(FrontOf, TwoChipsAgreeWithCountingOut) {
  expect_agreement(cases()[GetParam()].one, two_chips(6));
}

TEST_P(FrontOf, AMeshAgreesWithCountingOut) {
  expect_agreement(cases()[GetParam()].one, mesh(4, 3));
}

TEST_P(FrontOf, AChipThatOverlapsAgreesWithCountingOut) {
  chip::Chip chip = small_chip(12);
  chip.interconnect.overlaps_compute = true;
  chip.interconnect.multicast = false;
  chip.interconnect.native_shift = true;
  expect_agreement(cases()[GetParam()].one, chip);
}

TEST_P(FrontOf, EveryPlanCostsAtLeastACorner) {
  const OneOp one = cases()[GetParam()].one;
  const chip::Chip chip = two_chips(6);
  const tile::TileModel tiles = analytic();
  const Floor floor = front(one.graph, one.op(), chip, tiles, {}).floor;
  for (const NaivePlan& plan : fitting(test::naive_plans(one, chip, tiles), chip)) {
    const auto full =
        partition::complete_plan(one.graph, one.op(), plan.factors, plan.temporal, chip);
    const PlanOption option = price(one.graph, one.op(), *full, chip, tiles);
    const double execute = option.time.value;
    EXPECT_GE(option.compute, floor.compute);
    EXPECT_GE(execute, floor.execute.value);
    EXPECT_TRUE(std::any_of(floor.corners.begin(), floor.corners.end(), [&](const Corner& corner) {
      return corner.execute.value <= execute && corner.hbm_bytes <= plan.hbm;
    }));
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, FrontOf, ::testing::Range<std::size_t>(0, 11),
                         [](const ::testing::TestParamInfo<std::size_t>& at) {
                           return cases()[at.param].name;
                         });

TEST(Front, OfWeightsSpreadOverTwoChipsAgreesWithCountingOut) {
  expect_agreement(test::matmul(8, 12, 10), two_chips(12));
  expect_agreement(test::matmul(8, 12, 10), two_chips(12, 8192 + 256));
}

TEST(Front, MoreSramIsNeverSlower) {
  const OneOp one = test::matmul(16, 48, 64);
  double last = 1.0;
  for (const std::int64_t room : {1024, 1536, 2048, 4096, 16384}) {
    const Front front =
        cost::front(one.graph, one.op(), small_chip(16, 8192 + room), analytic(), {});
    if (!front.options.empty()) {
      const double time = front.options[static_cast<std::size_t>(front.fastest)].time.value;
      EXPECT_LE(time, last);
      last = time;
    }
  }
  EXPECT_LT(last, 1.0);
}

TEST(Front, SaysTheLeastSpaceWhereNothingFits) {
  const OneOp one = test::matmul(64, 64, 64);
  const Front front = cost::front(one.graph, one.op(), small_chip(4, 8192 + 64), analytic(), {});
  EXPECT_TRUE(front.options.empty());
  EXPECT_EQ(front.counts.filtered, 0);
  EXPECT_GT(front.smallest, Bytes{64});
}

TEST(Front, KeepsTheFastestPlanThatAConstraintFilters) {
  const OneOp one = test::row_sum(1, 6);  // Adding up over cores costs more than it saves.
  const chip::Chip chip = small_chip(12);
  const Front front = cost::front(one.graph, one.op(), chip, analytic(), {.min_core_share = 0.5});
  const PlanOption& fastest = front.options[static_cast<std::size_t>(front.fastest)];
  EXPECT_EQ(fastest.cores, 1);
  for (const PlanOption& option : front.options) {
    EXPECT_TRUE(option.cores >= 6 || option.plan == fastest.plan);
  }
}

TEST(Front, FiltersPaddedCuts) {
  const OneOp one = test::matmul(5, 6, 7);
  const Front front =
      cost::front(one.graph, one.op(), small_chip(12), analytic(), {.max_padding = 1.0});
  for (const PlanOption& option : front.options) {
    if (option.plan != front.options[static_cast<std::size_t>(front.fastest)].plan) {
      EXPECT_EQ(5 % option.plan.factors[AxisId{0}], 0);
      EXPECT_EQ(6 % option.plan.factors[AxisId{1}], 0);
      EXPECT_EQ(7 % option.plan.factors[AxisId{2}], 0);
    }
  }
}

// So large a space that its front is that of spaced cuts; plans drawn at random are from all of it.
TEST(Front, OfALargeSpaceHasTheFastestPlanAndTheFloorOfAllOfIt) {
  const OneOp one = test::matmul(96, 600, 500);
  const chip::Chip chip = small_chip(700, 1 << 16);
  const tile::TileModel tiles = analytic();
  const Front front = cost::front(one.graph, one.op(), chip, tiles, {});
  const double fastest = front.options[static_cast<std::size_t>(front.fastest)].time.value;
  Random random{.state = 7};
  const auto drawn = [&](const test::Numbers& from) {
    return from[id_at<AxisId>(random.below(static_cast<std::int64_t>(from.size())))];
  };
  int fitting = 0;
  while (fitting < 500) {
    const std::int64_t m = drawn(partition::distinct_factors(96, 700));
    const std::int64_t n = drawn(partition::distinct_factors(600, 700 / m));
    const std::int64_t k = drawn(partition::distinct_factors(500, 700 / (m * n)));
    const std::int64_t parts = drawn(partition::temporal_factors(ceil_div(500, k), m));
    const auto plan =
        partition::complete_plan(one.graph, one.op(), {m, n, k}, {{}, {parts, 1}, {}}, chip);
    const PlanOption option = price(one.graph, one.op(), *plan, chip, tiles);
    if (option.footprint.space > chip::room(chip)) {
      continue;
    }
    ++fitting;
    ASSERT_GE(option.time.value, fastest);
    const double execute = option.time.value;
    ASSERT_TRUE(std::any_of(front.floor.corners.begin(), front.floor.corners.end(),
                            [&](const Corner& corner) { return corner.execute.value <= execute; }));
    ASSERT_GE(option.compute, front.floor.compute);
  }
}

// Too large a space to see every cut; branch and bound leaves no gap below the plans.
TEST(Front, OfAVastSpaceHasAFloorThatPlansReachAndNoneUndercuts) {
  const OneOp one = test::matmul(512, 2048, 3000);
  const chip::Chip chip = small_chip(1472, 1 << 18);
  const tile::TileModel tiles = analytic();
  const Front front = cost::front(one.graph, one.op(), chip, tiles, {});
  const double fastest = front.options[static_cast<std::size_t>(front.fastest)].time.value;
  EXPECT_GT(front.floor.execute.value, 0.95 * fastest);
  Random random{.state = 11};
  const auto drawn = [&](const test::Numbers& from) {
    return from[id_at<AxisId>(random.below(static_cast<std::int64_t>(from.size())))];
  };
  for (int draw = 0; draw < 1000; ++draw) {
    const std::int64_t m = drawn(partition::distinct_factors(512, 64));
    const std::int64_t n = drawn(partition::distinct_factors(2048, 1472 / m));
    const std::int64_t k = drawn(partition::distinct_factors(3000, 1472 / (m * n)));
    const auto plan = partition::complete_plan(one.graph, one.op(), {m, n, k}, {{}, {}, {}}, chip);
    const PlanOption option = price(one.graph, one.op(), *plan, chip, tiles);
    if (option.footprint.space <= chip::room(chip)) {
      ASSERT_GE(option.time.value, front.floor.execute.value);
      ASSERT_GE(option.time.value, fastest);
    }
  }
}

// Where both operands of a cut have to rotate, there are more ways than the first look takes in.
TEST(Front, OfAVastSpaceHasThePlanOfTheLeastSpaceWhereNoOtherFits) {
  OneOp one(ir::OpKind::MatMul, "matmul",
            {test::parallel("b", 8, ir::TileDim::Group),
             test::parallel("h", 16, ir::TileDim::Group), test::parallel("m", 512, ir::TileDim::M),
             test::parallel("n", 64, ir::TileDim::N), test::reduction("k", 512, ir::TileDim::K)});
  one.reads(ir::Home::Activation, {8, 16, 512, 512},
            {test::along(AxisId{0}), test::along(AxisId{1}), test::along(AxisId{2}),
             test::along(AxisId{4})})
      .reads(ir::Home::Activation, {8, 16, 512, 64},
             {test::along(AxisId{0}), test::along(AxisId{1}), test::along(AxisId{4}),
              test::along(AxisId{3})})
      .writes({8, 16, 512, 64}, {test::along(AxisId{0}), test::along(AxisId{1}),
                                 test::along(AxisId{2}), test::along(AxisId{3})});
  const tile::TileModel tiles = analytic();
  chip::Chip chip = mesh(90, 90);
  const Bytes least = cost::front(one.graph, one.op(), chip, tiles, {}).smallest;
  chip.core.sram = least + chip.core.reserved;
  ASSERT_EQ(chip::room(chip), least);
  const Front front = cost::front(one.graph, one.op(), chip, tiles, {});
  ASSERT_FALSE(front.options.empty());
  EXPECT_EQ(front.options.front().footprint.space, least);
  EXPECT_EQ(front.smallest, least);
}

/// Seconds from the start of a preload to the end of its execute.
double from_preload(const PlanOption& option) {
  return option.states.front().time.value + option.time.value;
}

bool leaves_even_pieces(const OneOp& one, const partition::ExecutePlan& plan,
                        const chip::Chip& chip) {
  const OperandId result = id_at<OperandId>(one.op().operands.size() - 1);
  const partition::Scatter scatter = partition::scatter(one.graph, one.op(), result, plan, chip);
  if (scatter.parts == 1) {
    return true;
  }
  const AxisId axis = id_at<AxisId>(scatter.dim.value);
  return one.op().axes[axis].size % (plan.factors[axis] * scatter.parts) == 0;
}

// 13 rows can be scattered evenly over no cores, 16 over many.
TEST(Front, HasTheSoonestPlanThatLeavesEvenPieces) {
  for (const OneOp& one : {test::matmul(16, 12, 40), test::matmul(13, 9, 64)}) {
    const chip::Chip chip = small_chip(24);
    const tile::TileModel tiles = analytic();
    double expected = 1.0;
    for (const NaivePlan& plan : fitting(test::naive_plans(one, chip, tiles), chip)) {
      const auto complete =
          partition::complete_plan(one.graph, one.op(), plan.factors, plan.temporal, chip);
      if (leaves_even_pieces(one, *complete, chip)) {
        expected =
            std::min(expected, from_preload(price(one.graph, one.op(), *complete, chip, tiles)));
      }
    }
    double found = 1.0;
    for (const PlanOption& option : cost::front(one.graph, one.op(), chip, tiles, {}).options) {
      if (leaves_even_pieces(one, option.plan, chip)) {
        found = std::min(found, from_preload(option));
      }
    }
    EXPECT_DOUBLE_EQ(found, expected);
  }
}

TEST(Front, IsTheSameEveryTime) {
  const OneOp one = test::matmul(32, 512, 640);
  const chip::Chip chip = small_chip(300, 1 << 17);
  const Front first = cost::front(one.graph, one.op(), chip, analytic(), {});
  const Front second = cost::front(one.graph, one.op(), chip, analytic(), {});
  ASSERT_EQ(first.options.size(), second.options.size());
  for (std::size_t i = 0; i < first.options.size(); ++i) {
    EXPECT_EQ(first.options[i].plan, second.options[i].plan);
    EXPECT_EQ(first.options[i].time, second.options[i].time);
  }
  EXPECT_EQ(first.floor.corners, second.floor.corners);
}

TEST(Front, ListsParetoPlansFirstEachByTime) {
  const OneOp one = test::matmul(16, 12, 40);
  const Front front = cost::front(one.graph, one.op(), small_chip(24), analytic(), {});
  const auto by_time = [](const PlanOption& a, const PlanOption& b) { return a.time < b.time; };
  const auto others = front.options.begin() + front.counts.pareto;
  ASSERT_NE(others, front.options.end());
  EXPECT_TRUE(std::is_sorted(front.options.begin(), others, by_time));
  EXPECT_TRUE(std::is_sorted(others, front.options.end(), by_time));
  for (auto other = others; other != front.options.end(); ++other) {
    EXPECT_TRUE(std::any_of(front.options.begin(), others, [&](const PlanOption& option) {
      return option.footprint.space <= other->footprint.space &&
             option.exchange <= other->exchange && option.time <= other->time;
    })) << "a plan that none covers stands behind the Pareto plans";
  }
}

/// Products in blocks of eight columns, whatever part of them a tile fills.
tile::TileModel in_blocks() {
  const auto cycles = [](const tile::KernelName& /*name*/, const tile::TileShape& shape) {
    const std::int64_t columns = ceil_div(shape[ir::TileDim::N], 8);
    return static_cast<double>(shape[ir::TileDim::M] * columns * shape[ir::TileDim::K]);
  };
  std::vector<tile::KernelName> names;
  for (const char* function : {"matmul", "partials_reduce", "slice_copy"}) {
    for (const ir::DType type : {ir::DType::F16, ir::DType::F32}) {
      names.push_back({.function = function, .compute = type, .accumulate = type});
    }
  }
  return tile::TileModel(names, cycles);
}

TEST(Front, KnowsOnAGridWhoFillsTheBlocksOfAKernel) {
  // Each of 8 x 8 cores takes 1 x 2 of the results, or each of 8 x 2 takes 1 x 8: as long.
  const OneOp one = test::matmul(8, 16, 16);
  const Front front = cost::front(one.graph, one.op(), mesh(8, 8), in_blocks(), {});
  const PlanOption& fastest = front.options[static_cast<std::size_t>(front.fastest)];
  ASSERT_EQ(fastest.plan.factors, (std::vector<std::int64_t>{8, 8, 1}));
  const Table<AxisId, std::int64_t> filled{8, 2, 1};
  const auto found =
      std::find_if(front.options.begin() + front.counts.pareto, front.options.end(),
                   [&](const PlanOption& option) { return option.plan.factors == filled; });
  ASSERT_NE(found, front.options.end());
  EXPECT_EQ(found->compute, fastest.compute);
  EXPECT_LE(found->time, fastest.time);
}

}  // namespace
}  // namespace elk::cost
