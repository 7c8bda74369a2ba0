#include <vector>

#include <gtest/gtest.h>

#include "compile/plans.hpp"
#include "elk/compile/aim.hpp"
#include "elk/compile/simulate.hpp"
#include "elk/cost/front/thrifty.hpp"
#include "schedule/models.hpp"

namespace elk::compile {
namespace {

using schedule::Objective;

chip::Chip powered(chip::Chip chip) {
  chip.energy = chip::Energy{.pj_per_flop = 0.5,
                             .pj_per_sram_byte = 2.0,
                             .pj_per_link_byte_hop = 8.0,
                             .pj_per_hbm_byte = 30.0,
                             .pj_per_inter_chip_byte = 10.0,
                             .static_w = 0.0};
  return chip;
}

const chip::Chip kPowered = powered(test::tight_chip(16, 65536));

Plan aimed(Objective objective, Policy policy = Policy::ElkFull) {
  return compile(test::transformer({.layers = 2}), kPowered, test::analytic(),
                 {.policy = policy, .objective = objective, .pod = Pod::Pooled, .threads = 1});
}

TEST(Aim, IsNeverMissedByMoreThanThePlanForLatency) {
  const Plan shortest = aimed(Objective::Latency);
  EXPECT_FALSE(shortest.aimed);
  EXPECT_EQ(worth(shortest), static_cast<double>(shortest.predicted.total.value));
  const Plan frugal = aimed(Objective::Energy);
  ASSERT_TRUE(frugal.aimed);
  EXPECT_LE(frugal.aimed->joules, frugal.aimed->shortest_joules);
  EXPECT_EQ(worth(frugal), frugal.aimed->joules);
  const Plan both = aimed(Objective::Edp);
  ASSERT_TRUE(both.aimed);
  EXPECT_LE(both.aimed->worth,
            both.aimed->shortest_joules * to_seconds(both.aimed->shortest).value);
}

TEST(Aim, CountsTheWorkOfARun) {
  const ir::Graph graph = test::transformer({.layers = 2});
  const tile::TileModel tiles = test::analytic();
  const auto joules = [&](const Plan& plan) {
    return work_joules(simulate(graph, kPowered, plan.program, tiles, sim::Fidelity::Symmetric),
                       kPowered);
  };
  const double frugal = joules(aimed(Objective::Energy));
  EXPECT_GT(frugal, 0.0);
  EXPECT_LE(frugal, joules(aimed(Objective::Latency)));
}

TEST(Aim, OfAPodCountsEveryChip) {
  std::optional<Aimed> aimed = Aimed{.objective = Objective::Energy,
                                     .joules = 1.0,
                                     .worth = 1.0,
                                     .shortest = {5},
                                     .shortest_joules = 2.0};
  count_chips(4, aimed);
  EXPECT_EQ(aimed->joules, 4.0);
  EXPECT_EQ(aimed->worth, 4.0);
  EXPECT_EQ(aimed->shortest_joules, 8.0);
  EXPECT_EQ(aimed->shortest, Picoseconds{5});
}

TEST(Aim, NeedsCoefficientsAndAPolicyThatCountsThem) {
  const auto check = [](const chip::Chip& chip, Policy policy) {
    check_objective(chip, {.policy = policy, .objective = Objective::Energy});
  };
  EXPECT_NO_THROW(check(kPowered, Policy::ElkDyn));
  EXPECT_THROW(check(kPowered, Policy::Basic), InvalidInput);
  EXPECT_THROW(check(test::tight_chip(16, 65536), Policy::ElkDyn), InvalidInput);
  EXPECT_EQ(policies_from({.policy = Policy::ElkFull, .objective = Objective::Edp}),
            (std::vector<Policy>{Policy::ElkFull, Policy::ElkDyn}));
}

TEST(Aim, HasPlansThatTradeTimeForEnergy) {
  const test::OneOp one = test::matmul(8, 64, 64);
  const auto plans =
      cost::thrifty_plans(one.graph, one.op(), kPowered, test::analytic(), cost::Constraints{});
  ASSERT_GT(plans.size(), 1U);
  const auto cores = [&](const partition::ExecutePlan& plan) {
    return partition::tiling(one.op(), plan).cores;
  };
  EXPECT_GT(cores(plans.front()), cores(plans.back()));
}

}  // namespace
}  // namespace elk::compile
