#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/rounding.hpp"
#include "elk/cost/option.hpp"
#include "elk/cost/price/price.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/extent.hpp"
#include "elk/program/expand/execution.hpp"
#include "elk/sim/play/demand.hpp"
#include "elk/sim/play/player.hpp"
#include "schedule/models.hpp"

/// What the planner takes rotations to move, and what the simulator derives from them: the same.
namespace elk::compile {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Temporal factors of an operand along any of its dimensions, whose product divides `sharers`.
std::vector<Numbers> temporals(const ir::Op& op, std::size_t operand, std::int64_t sharers) {
  std::vector<Numbers> result{{}};
  for (std::size_t dim = 0; dim < op.operands[operand].dims.size(); ++dim) {
    std::vector<Numbers> longer;
    for (const Numbers& before : result) {
      std::int64_t product = 1;
      for (const std::int64_t parts : before) {
        product *= parts;
      }
      for (const std::int64_t parts : partition::divisors(sharers / product)) {
        longer.push_back(before);
        longer.back().push_back(parts);
      }
    }
    result = std::move(longer);
  }
  return result;
}

struct Moved {
  std::int64_t plans = 0;
  std::int64_t several = 0;  // plans with an operand that rotates along two dimensions
};

/// Compares one plan, whatever its loops, at full and at half pace.
void expect_same_bytes(const test::OneOp& one, const partition::ExecutePlan& plan,
                       const chip::Chip& chip) {
  const tile::TileModel tiles = test::analytic();
  const cost::PlanOption option = cost::price(one.graph, one.op(), plan, chip, tiles);
  const program::OpPlan placed{.execute = plan, .divisor = {0, 1, 0}};
  sim::Demands each(chip, sim::Fidelity::Core);
  sim::Demands once(chip, sim::Fidelity::Symmetric);
  Bytes shifted{0};
  for (const program::RotationExchange& rotation :
       program::rotations({one.graph, one.op(), placed, chip})) {
    const sim::Demand demand = each.of(rotation.exchange);
    shifted += demand.busiest * ((option.steps - 1) / rotation.every);
    EXPECT_EQ(sim::alone(demand), sim::alone(once.of(rotation.exchange)));
  }
  EXPECT_EQ(shifted, option.shift.bytes);
}

Moved compared(const test::OneOp& one, const Numbers& factors, const chip::Chip& chip) {
  Moved moved;
  const std::int64_t n = factors[1];
  const std::int64_t m = factors[0];
  for (const Numbers& x : temporals(one.op(), 0, n)) {
    for (const Numbers& w : temporals(one.op(), 1, m)) {
      auto plan = partition::complete_plan(one.graph, one.op(), factors, {x, w, {}}, chip);
      moved.plans += 1;
      moved.several += (x[0] > 1 && x[1] > 1) || (w[0] > 1 && w[1] > 1) ? 1 : 0;
      expect_same_bytes(one, *plan, chip);
      std::reverse(plan->loops.begin(), plan->loops.end());
      for (std::int64_t& pace : plan->pace) {
        pace = ceil_div(pace, 2);
      }
      expect_same_bytes(one, *plan, chip);
    }
  }
  return moved;
}

TEST(Rotations, MoveTheBytesThatArePlannedAlongAnyDimensions) {
  const chip::Chip chip = test::small_chip(48);
  const Moved even = compared(test::matmul(24, 32, 64), {8, 4, 1}, chip);
  const Moved uneven = compared(test::matmul(23, 31, 53), {8, 4, 1}, chip);
  EXPECT_EQ(even.plans, 6 * 10);  // Pairs of powers of two up to 4, and up to 8.
  EXPECT_EQ(even.several, 60 - (5 * 7));
  EXPECT_EQ(uneven.plans, even.plans);
}

}  // namespace
}  // namespace elk::compile
