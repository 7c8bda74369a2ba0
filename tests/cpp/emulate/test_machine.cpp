#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "emulate/random_plans.hpp"

namespace elk::emulate {
namespace {

using namespace random_plans;

TEST(Machine, ComputesWhatOneTileDoesUnderRandomPlans) {
  const chip::Chip chip = test::small_chip(24, 1 << 16);
  std::int64_t rotating = 0;
  std::int64_t divided = 0;
  std::int64_t summed = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Tried run = tried(chip, seed);
    ASSERT_EQ(emulated(run, chip), wanted(run.one, run.images))
        << "seed " << seed << ": " << described(run.one, run.program);
    const program::OpPlan& plan = run.program.ops[OpId{0}];
    rotating += plan.execute.loops.empty() ? 0 : 1;
    divided +=
        std::any_of(plan.divisor.begin(), plan.divisor.end(), [](std::int64_t d) { return d > 1; })
            ? 1
            : 0;
    summed +=
        partition::scatter(run.one.graph, run.one.op(),
                           id_at<OperandId>(run.one.op().operands.size() - 1), plan.execute, chip)
                    .parts > 1
            ? 1
            : 0;
  }
  EXPECT_GT(rotating, 200);
  EXPECT_GT(divided, 200);
  EXPECT_GT(summed, 200);
}

TEST(Machine, ComputesWhatOneTileDoesUnderRandomIdleStates) {
  chip::Chip chip = test::small_chip(24, 1 << 16);
  chip.hbm.reset();
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Tried run = tried(chip, seed);
    ASSERT_EQ(program::check(run.one.graph, chip, run.program), std::vector<std::string>{});
    ASSERT_EQ(emulated(run, chip), wanted(run.one, run.images))
        << "seed " << seed << ": " << described(run.one, run.program);
    for (const OperandId k : run.one.op().operands.ids()) {
      if (partition::from_hbm(run.one.graph, run.one.op().operands[k])) {
        const std::int64_t divisor = run.program.ops[OpId{0}].divisor[k];
        seen[divisor == 0 ? "spread" : divisor == 1 ? "whole" : "part"] += 1;
      }
    }
  }
  for (const char* kind : {"spread", "whole", "part"}) {
    EXPECT_GT(seen[kind], 100) << kind;
  }
}

/// x[p, c] + y[q, c] or x[p, c] + y[c], spread over r: cores may share pieces of both, some of one.
OneOp random_spread_sum(Random& random) {
  const auto rows = [&](const char* name) {
    return test::parallel(name, 1 + random.below(4), ir::TileDim::Rows);
  };
  const auto columns = test::parallel("c", 1 + random.below(14), ir::TileDim::Cols);
  OneOp one(ir::OpKind::Elementwise, "add", {rows("p"), rows("q"), rows("r"), columns});
  const auto size = [&](AxisId axis) { return one.op().axes[axis].size; };
  one.reads(ir::Home::Activation, {size(AxisId{0}), size(AxisId{3})},
            {test::along(AxisId{0}), test::along(AxisId{3})});
  if (random.below(2) == 0) {
    one.reads(ir::Home::Weight, {size(AxisId{3})}, {test::along(AxisId{3})});
  } else {
    one.reads(ir::Home::Weight, {size(AxisId{1}), size(AxisId{3})},
              {test::along(AxisId{1}), test::along(AxisId{3})});
  }
  one.writes({size(AxisId{0}), size(AxisId{1}), size(AxisId{2}), size(AxisId{3})},
             {test::along(AxisId{0}), test::along(AxisId{1}), test::along(AxisId{2}),
              test::along(AxisId{3})});
  return runnable(one);
}

TEST(Machine, ComputesWhatOneTileDoesWhereSeveralOperandsRotateAlongOneAxis) {
  const chip::Chip chip = test::small_chip(24, 1 << 16);
  int refused = 0;
  int both = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random{seed};
    OneOp one = random_spread_sum(random);
    const auto plan = random_plan(one, chip, random, Draw::Any);
    if (!is_valid(one, *plan, chip)) {
      ++refused;
      continue;
    }
    const auto& temporal = plan->temporal;
    both += !temporal[OperandId{0}].empty() && !temporal[OperandId{1}].empty() &&
                    temporal[OperandId{0}].back() > 1 && temporal[OperandId{1}].back() > 1
                ? 1
                : 0;
    program::Program program = program_of(one, *plan, chip, random);
    const Images images = random_images(one.graph, random);
    const Tried run{std::move(one), std::move(program), images};
    ASSERT_EQ(emulated(run, chip), wanted(run.one, run.images))
        << "seed " << seed << ": " << described(run.one, run.program);
  }
  EXPECT_GT(refused, 50);
  EXPECT_GT(both, 20);
}

TEST(Machine, ComputesWhatOneTileDoesWhereOperandsRotateAlongSeveralDimensions) {
  const chip::Chip chip = test::small_chip(24, 1 << 16);
  std::int64_t divided = 0;
  std::int64_t slower = 0;  // at a pace shorter than a partition
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Tried run = tried(chip, seed, Draw::Several);
    ASSERT_EQ(emulated(run, chip), wanted(run.one, run.images))
        << "seed " << seed << ": " << described(run.one, run.program);
    const program::OpPlan& plan = run.program.ops[OpId{0}];
    divided +=
        std::any_of(plan.divisor.begin(), plan.divisor.end(), [](std::int64_t d) { return d > 1; })
            ? 1
            : 0;
    const auto full = partition::complete_plan(run.one.graph, run.one.op(), plan.execute.factors,
                                               plan.execute.temporal, chip);
    slower += full->pace != plan.execute.pace ? 1 : 0;
  }
  EXPECT_GT(divided, 50);
  EXPECT_GT(slower, 200);
}

// x[9, 8] rotates along m in parts of 2 and 1 of 3 rows, w[8, 2] along k in parts of 3, 3 and 2: of
// some core a window of either wraps around, and its first sub-task has four parts, two of them the
// first of their sums.
TEST(Machine, BeginsEverySumOfASubTaskThatWrapsAroundAlongTwoAxes) {
  const chip::Chip chip = test::small_chip(6, 1 << 16);
  OneOp one = runnable(test::matmul(9, 2, 8));
  const auto plan =
      partition::complete_plan(one.graph, one.op(), {3, 2, 1}, {{2, 1}, {3, 1}, {}}, chip);
  partition::validate(one.graph, one.op(), *plan, chip);
  Random random{1};
  program::Program program = program_of(one, *plan, chip, random);
  const Images images = random_images(one.graph, random);
  const Tried run{std::move(one), std::move(program), images};
  EXPECT_EQ(emulated(run, chip), wanted(run.one, run.images));
}

}  // namespace
}  // namespace elk::emulate
