#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rounds.hpp"
#include "compile/plans.hpp"
#include "elk/base/errors.hpp"
#include "elk/base/random.hpp"
#include "elk/base/text.hpp"
#include "elk/compile/shortest.hpp"
#include "elk/program/program.hpp"
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
  for (std::size_t op = 0; op < found.ops.size(); ++op) {
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

/// What a pooled plan is thought to take, and what it does.
struct Offer {
  std::int64_t estimate;
  std::function<Picoseconds()> glance;
  std::int64_t planned;
};

bool takes_less(const Plan& best, const Plan& plan) {
  return plan.predicted.total < best.predicted.total;
}

Plan some_plan() {
  const ir::Graph graph = test::transformer({.layers = 1, .rows = 4, .width = 64});
  return *plan(graph, pod(8, 32768), Policy::Basic, 1, Pod::Sharded);
}

TEST(Shortest, AsksForThePooledPlanOnlyWhereItsEstimateIsNotFarAbove) {
  const Plan like = some_plan();
  const auto taking = [&](std::int64_t time) {
    Plan made = like;
    made.predicted.total = {time};
    return made;
  };
  int asked = 0;
  const auto total = [&](const Offer& offer) {
    const Pooled pooled{.about = {offer.estimate},
                        .glance = offer.glance,
                        .overestimate = 1.1,
                        .plan =
                            [&] {
                              ++asked;
                              return taking(offer.planned);
                            },
                        .beats = takes_less};
    std::vector<train::Sharding> one(1);
    one[0].time = {100};
    return shortest(
               one, [] { return train::Sharding{}; },
               [&](const train::Sharding&) { return taking(100); }, pooled)
        .predicted.total.value;
  };
  EXPECT_EQ(total({.estimate = 105, .glance = {}, .planned = 80}), 80);
  EXPECT_EQ(total({.estimate = 90, .glance = {}, .planned = 110}), 100);
  EXPECT_EQ(total({.estimate = 90, .glance = [] { return Picoseconds{105}; }, .planned = 80}), 80);
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(total({.estimate = 115, .glance = {}, .planned = 80}), 100);
  EXPECT_EQ(total({.estimate = 90, .glance = [] { return Picoseconds{115}; }, .planned = 80}), 100);
  EXPECT_EQ(asked, 3);
}

TEST(Shortest, FallsBackOnThePooledPlanAndThenSaysWhyTheFirstDidNotFit) {
  const Plan like = some_plan();
  int refused = 0;
  const auto refuse = [&](const train::Sharding&) -> Plan {
    throw Infeasible(text("refusal ", refused++));
  };
  const auto resort = [] { return train::Sharding{}; };
  const std::vector<train::Sharding> one(1);
  Pooled pooled{.about = {std::int64_t{1} << 60},
                .glance = {},
                .overestimate = 1.1,
                .plan = [&] { return like; },
                .beats = takes_less};
  EXPECT_EQ(shortest(one, resort, refuse, pooled).predicted.total, like.predicted.total);
  refused = 0;
  pooled.plan = [&] { return refuse(train::Sharding{}); };
  try {
    static_cast<void>(shortest(one, resort, refuse, pooled));
    ADD_FAILURE() << "nothing fits";
  } catch (const Infeasible& error) {
    EXPECT_STREQ(error.what(), "refusal 0");
  }
}

TEST(CompileSharded, GivesTheSamePlanOnAnyNumberOfThreads) {
  const ir::Graph graph = test::transformer({.layers = 3, .rows = 4, .width = 96});
  for (const Policy policy : kPolicies) {
    const std::optional<Plan> one = plan(graph, pod(8, 32768), policy, 1, Pod::Sharded);
    ASSERT_TRUE(one) << schedule::name(policy);
    for (const std::int32_t threads : {2, 4}) {
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
          EXPECT_EQ(numbers(found->bounds), numbers(before->bounds));
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
