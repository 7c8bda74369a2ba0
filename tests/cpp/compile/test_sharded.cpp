#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rounds.hpp"
#include "compile/plans.hpp"
#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/text.hpp"
#include "elk/compile/shortest.hpp"
#include "elk/program/program.hpp"
#include "elk/schedule/policies/finals.hpp"
#include "schedule/models.hpp"

namespace elk::compile {
namespace {

/// Four chips whose HBM is slow: it pays to read every weight once.
chip::Chip pod(std::int64_t cores, std::int64_t sram) {
  chip::Chip chip = test::tight_pair(cores, sram);
  chip.chips = 4;
  chip.hbm->rate = 1e9;
  chip.hbm->port_rate = 1e9;
  return chip;
}

std::int64_t collectives(const Plan& plan) {
  if (!plan.shard) {
    return 0;
  }
  std::int64_t count = 0;
  for (const ir::Op& op : plan.shard->graph.ops) {
    count += ir::is_collective(op.kind) ? 1 : 0;
  }
  return count;
}

std::vector<std::string> broken(const Plan& plan, const ir::Graph& graph, const chip::Chip& pod) {
  return plan.shard ? program::check(plan.shard->graph, chip::one_of(pod), plan.program)
                    : program::check(graph, pod, plan.program);
}

TEST(CompileSharded, PlansOneChipWithCollectivesAsOps) {
  const ir::Graph graph = test::transformer({.layers = 4, .rows = 8, .width = 256, .inner = 512});
  const chip::Chip chip = pod(16, 65536);
  const Plan found = *plan(graph, chip, Policy::ElkDyn, 1, Pod::Sharded);
  ASSERT_TRUE(found.shard);
  EXPECT_GE(collectives(found), 8);
  EXPECT_EQ(found.ops.size(), found.shard->graph.ops.size());
  EXPECT_EQ(broken(found, graph, chip), std::vector<std::string>{});
  for (const OpId op : found.ops.ids()) {
    const cost::PlanOption& option = found.ops[op].option;
    if (ir::is_collective(found.shard->graph.ops[op].kind)) {
      EXPECT_GT(option.shift.crossing, Bytes{0});
      EXPECT_GT(option.shift.time, Seconds{0.0});
      EXPECT_EQ(option.compute, Seconds{0.0});
      EXPECT_FALSE(found.ops[op].has_preload);
    }
    EXPECT_LE(option.cores, 16);
  }
}

TEST(CompileSharded, IsFasterThanPooledAndThanOneChipWhereExchangesDecide) {
  const ir::Graph graph = test::transformer({.layers = 4, .rows = 8, .width = 256, .inner = 512});
  chip::Chip chip = pod(16, 65536);
  chip.hbm->rate = 32e9;
  chip.hbm->port_rate = 32e9;
  const Plan sharded = *plan(graph, chip, Policy::ElkDyn, 1, Pod::Sharded);
  const Plan pooled = *plan(graph, chip, Policy::ElkDyn, 1, Pod::Pooled);
  EXPECT_FALSE(pooled.shard);
  EXPECT_LE(sharded.raw, pooled.raw);
  chip::Chip alone = chip::one_of(chip);
  alone.inter_chip.reset();
  EXPECT_LE(sharded.raw, plan(graph, alone, Policy::ElkDyn)->raw);
}

TEST(CompileSharded, IsNothingElseOnOneChip) {
  const ir::Graph graph = test::transformer({.layers = 2});
  const chip::Chip chip = test::tight_chip(16, 32768);
  const Plan sharded = *plan(graph, chip, Policy::ElkDyn, 1, Pod::Sharded);
  EXPECT_FALSE(sharded.shard);
  expect_same(sharded, *plan(graph, chip, Policy::ElkDyn, 1, Pod::Pooled));
}

Plan some_plan() {
  const ir::Graph graph = test::transformer({.layers = 1, .rows = 4, .width = 64});
  return *plan(graph, pod(8, 32768), Policy::Basic, 1, Pod::Sharded);
}

bool takes_less(const Plan& best, const Plan& plan) { return *plan.simulated < *best.simulated; }

constexpr std::size_t kPolicySteps = static_cast<std::size_t>(Policy::ElkFull) + 1;

/// What each policy, lowest first, finds of one way to run a model: its forecast, infinite where
/// nothing fits, and what its plan takes.
struct Offer {
  std::array<Seconds, kPolicySteps> least;
  std::array<Seconds, kPolicySteps> takes;
};

constexpr Seconds kNothing{std::numeric_limits<double>::infinity()};
constexpr Seconds kPicosecond{1e-12};

/// An offer of the same time under every policy.
Offer always(double picoseconds) {
  Offer result;
  result.least.fill(kPicosecond * picoseconds);
  result.takes.fill(kPicosecond * picoseconds);
  return result;
}

/// Offers of the shardings, of the last resort and of the pod as one machine, what is asked of
/// them, and what is thought of them.
struct Fair {
  std::vector<shard::Sharding> shardings;
  std::vector<Offer> shared;
  Offer resort;
  Offer pooled;
  Picoseconds about;
  int asked = 0;
  int refused = 0;

  Plan planned(const Offer& offer, Policy policy, Plan made) {
    ++asked;
    const auto at = static_cast<std::size_t>(policy);
    if (offer.least[at] == kNothing) {
      throw Infeasible(text("refusal ", refused++));
    }
    made.policy = policy;
    made.least.assign(offer.least.begin(), offer.least.begin() + policy_count(policy));
    made.predicted.total = to_picoseconds(offer.least[at]);
    made.simulated = offer.takes[at];
    return made;
  }

  static std::ptrdiff_t policy_count(Policy policy) {
    return static_cast<std::ptrdiff_t>(policy) + 1;
  }

  Plan best(Policy policy, const Plan& like) {
    const PooledPlan one{.about = about,
                         .plan = [&](Policy under) { return planned(pooled, under, like); }};
    std::vector<Policy> policies = schedule::policies_to(policy);
    std::reverse(policies.begin(), policies.end());
    const shard::Sharding* const first = shardings.data();
    return shortest({.proposals = shardings,
                     .resort = [] { return shard::Sharding{}; },
                     .plan_of =
                         [&](const shard::Sharding& sharding, Policy under) {
                           for (std::size_t i = 0; i < shardings.size(); ++i) {
                             if (first + i == &sharding) {
                               return planned(shared[i], under, like);
                             }
                           }
                           return planned(resort, under, like);
                         },
                     .pooled = one,
                     .beats = takes_less},
                    policies, nullptr);
  }
};

TEST(Shortest, AsksForThePooledPlanOnlyWhereItsEstimateIsNotFarAbove) {
  const Plan like = some_plan();
  Fair fair{.shardings = std::vector<shard::Sharding>(1),
            .shared = {always(100)},
            .resort = always(300),
            .pooled = always(80),
            .about = {105}};
  fair.shardings[0].time = {100};
  EXPECT_EQ(*fair.best(Policy::ElkDyn, like).simulated, kPicosecond * 80);
  fair.pooled = always(110);
  EXPECT_EQ(*fair.best(Policy::ElkDyn, like).simulated, kPicosecond * 100);
  fair.pooled = always(80);
  fair.about = {115};
  fair.asked = 0;
  EXPECT_EQ(*fair.best(Policy::ElkDyn, like).simulated, kPicosecond * 100);
  EXPECT_EQ(fair.asked, 1);
}

TEST(Shortest, AsksElkFullForThePooledPlanOnlyWhereThatOfElkDynIsNotFarAbove) {
  const Plan like = some_plan();
  Fair fair{.shardings = std::vector<shard::Sharding>(1),
            .shared = {always(100)},
            .resort = always(300),
            .pooled = always(105),
            .about = {90}};
  fair.shardings[0].time = {100};
  fair.pooled.least.back() = fair.pooled.takes.back() = kPicosecond * 80;
  EXPECT_EQ(*fair.best(Policy::ElkFull, like).simulated, kPicosecond * 80);
  EXPECT_EQ(fair.asked, 3);
  fair.pooled.least[schedule::step(Policy::ElkDyn)] = kPicosecond * 115;
  fair.asked = 0;
  EXPECT_EQ(*fair.best(Policy::ElkFull, like).simulated, kPicosecond * 100);
  EXPECT_EQ(fair.asked, 2);
}

/// Whatever each policy finds of each way to run a model, and however forecasts err: what a policy
/// returns takes no longer than what those below it return, which may have tried other ways.
TEST(Shortest, IsNeverWorseThanUnderAPolicyBelow) {
  const Plan like = some_plan();
  Random random{77};
  const auto between = [&](std::int64_t least, std::int64_t most) {
    return least + random.below(most - least + 1);
  };
  const auto offer = [&] {
    Offer result;
    double forecast = 1e9;
    double takes = 1e9;
    const auto fits = static_cast<std::size_t>(between(0, kPolicySteps));
    for (std::size_t i = 0; i < kPolicySteps; ++i) {
      forecast = std::min(forecast, static_cast<double>(between(50, 200)));
      takes = std::min(takes, static_cast<double>(between(50, 200)));
      result.least[i] = i < fits ? kNothing : kPicosecond * forecast;
      result.takes[i] = kPicosecond * takes;
    }
    return result;
  };
  int tried = 0;
  for (int round = 0; round < 100; ++round) {
    Fair fair{.shardings = std::vector<shard::Sharding>(3),
              .shared = {offer(), offer(), offer()},
              .resort = offer(),
              .pooled = offer(),
              .about = {between(50, 200)}};
    for (shard::Sharding& sharding : fair.shardings) {
      sharding.time = {between(50, 300)};
      sharding.least = {between(0, 150)};
    }
    Seconds below = kNothing;
    for (const Policy policy : schedule::policies_to(Policy::ElkFull)) {
      try {
        const Seconds takes = *fair.best(policy, like).simulated;
        EXPECT_LE(takes, below) << "round " << round << ", " << schedule::name(policy);
        below = takes;
        ++tried;
      } catch (const Infeasible&) {
        EXPECT_EQ(below, kNothing) << "round " << round << ", " << schedule::name(policy);
      }
    }
  }
  EXPECT_GT(tried, 250);
}

TEST(Shortest, FallsBackOnThePooledPlanAndThenSaysWhyTheFirstDidNotFit) {
  const Plan like = some_plan();
  Fair fair{.shardings = std::vector<shard::Sharding>(1),
            .shared = {always(kNothing.value)},
            .resort = always(kNothing.value),
            .pooled = always(100),
            .about = {std::int64_t{1} << 60}};
  EXPECT_EQ(*fair.best(Policy::ElkFull, like).simulated, kPicosecond * 100);
  fair.pooled = always(kNothing.value);
  fair.refused = 0;
  try {
    static_cast<void>(fair.best(Policy::ElkFull, like));
    ADD_FAILURE() << "nothing fits";
  } catch (const Infeasible& error) {
    EXPECT_STREQ(error.what(), "refusal 0");
  }
}

TEST(OnAnyNumberOfThreads, CompileGivesTheSameShardedPlan) {
  const ir::Graph graph = test::transformer({.layers = 3, .rows = 4, .width = 96});
  const std::vector<std::int32_t> counts =
      test::kSanitized ? std::vector<std::int32_t>{4} : std::vector<std::int32_t>{2, 4};
  for (const Policy policy : policies_with_all_work()) {
    const std::optional<Plan> one = plan(graph, pod(8, 32768), policy, 1, Pod::Sharded);
    ASSERT_TRUE(one) << schedule::name(policy);
    for (const std::int32_t threads : counts) {
      expect_same(*one, *plan(graph, pod(8, 32768), policy, threads, Pod::Sharded));
    }
  }
}

TEST(CompileSharded, KeepsThePromisesOfEveryPolicyOnRandomModels) {
  Random random{71};
  int models = 0;
  int crossing = 0;
  for (int round = 0; round < test::rounds(30); ++round) {
    const ir::Graph graph = test::random_graph(random);
    chip::Chip chip = pod(test::one_of<std::int64_t, 3>(random, {8, 12, 16}),
                          test::one_of<std::int64_t, 3>(random, {16384, 32768, 131072}));
    chip.chips = test::one_of<std::int64_t, 3>(random, {2, 3, 4});
    chip.inter_chip->port_cores = test::one_of<std::int64_t, 2>(random, {2, 8});
    chip.inter_chip->topology = test::one_of<chip::Topology, 3>(
        random, {chip::Topology::AllToAll, chip::Topology::Ring, chip::Topology::Mesh2d});
    std::optional<Plan> before;
    for (const Policy policy : {Policy::Basic, Policy::Static, Policy::ElkDyn}) {
      std::optional<Plan> found = plan(graph, chip, policy, 1, Pod::Sharded);
      if (before) {
        ASSERT_TRUE(found) << "round " << round << ": " << schedule::name(policy);
        EXPECT_LE(found->predicted.total, before->predicted.total);
        if (found->shard.has_value() == before->shard.has_value()) {
          EXPECT_EQ(proved(found->bounds), proved(before->bounds));
        }
      }
      if (found) {
        ++models;
        crossing += collectives(*found) > 0 ? 1 : 0;
        EXPECT_LE(to_picoseconds(found->bounds.lower_bound), found->predicted.total);
        EXPECT_EQ(broken(*found, graph, chip), std::vector<std::string>{}) << "round " << round;
      }
      before = std::move(found);
    }
  }
  EXPECT_GT(models, test::rounds(70));
  EXPECT_GT(crossing, test::rounds(40));
}

}  // namespace
}  // namespace elk::compile
