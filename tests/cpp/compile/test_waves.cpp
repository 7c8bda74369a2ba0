#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compile/plans.hpp"
#include "elk/compile/waves.hpp"
#include "elk/program/program.hpp"
#include "schedule/models.hpp"

namespace elk::compile {
namespace {

/// Two products by weights, whose operands are those of nodes.
ir::Graph products(std::int64_t width) {
  ir::Graph graph = test::chain(2, 64, width, false);
  for (ir::Op& op : graph.ops) {
    std::int32_t input = 0;
    for (ir::Operand& operand : op.operands) {
      operand.input = operand.access == ir::Access::Write ? 0 : input++;
    }
  }
  return graph;
}

std::optional<Plan> waved_plan(const ir::Graph& graph, const chip::Chip& chip, Policy policy,
                               bool waves) {
  try {
    return compile(graph, chip, test::analytic(),
                   {.policy = policy, .pod = Pod::Pooled, .threads = 1, .waves = waves});
  } catch (const Infeasible&) {
    return std::nullopt;
  }
}

TEST(Fitted, OpsAreCutOrResultsSpilledWhereTheyTakeMuch) {
  const ir::WaveGraph whole = ir::in_no_waves(products(256));  // Weights of half of all SRAM.
  const chip::Chip chip = test::tight_chip(4, 65536);
  EXPECT_GT(fitted(whole, chip, {.op = 0.4, .rest = 0.75}, 100)->graph.ops.size(), 3U);
  EXPECT_FALSE(fitted(whole, chip, {.op = 0.4, .rest = 0.75}, 4));
  const auto same = fitted(whole, test::tight_chip(16, 65536), {.op = 0.4, .rest = 0.75}, 100);
  EXPECT_EQ(same->graph.ops, whole.graph.ops);
  EXPECT_EQ(same->graph.tensors, whole.graph.tensors);
}

TEST(CompileWaves, IsNeverWorseThanWithout) {
  std::int32_t used = 0;
  for (const std::int64_t sram : {65536, 90112}) {
    for (const Policy policy : kPolicies) {
      const ir::Graph graph = products(256);
      const chip::Chip chip = test::tight_chip(4, sram);
      const std::optional<Plan> with = waved_plan(graph, chip, policy, true);
      const std::optional<Plan> without = waved_plan(graph, chip, policy, false);
      ASSERT_TRUE(with || !without);
      if (with && with->shard) {
        ++used;
        EXPECT_EQ(with->parts.size(), with->shard->graph.tensors.size());
        if (policy != Policy::Ideal) {
          EXPECT_EQ(program::check(with->shard->graph, chip, with->program),
                    std::vector<std::string>{});
        }
      }
      if (with && without) {
        EXPECT_LE(with->bounds.lower_bound, without->bounds.lower_bound);
        EXPECT_LE(with->bounds.ideal, without->bounds.ideal);
        if (policy == Policy::Ideal) {
          EXPECT_LE(with->predicted.total, without->predicted.total);
        }
      }
    }
  }
  EXPECT_GT(used, 0);
}

TEST(CompileWaves, PlansWhatFitsInNoOtherWay) {
  const ir::Graph graph = products(512);  // Weights of 512 KiB on 256 KiB.
  const chip::Chip chip = test::tight_chip(4, 65536);
  EXPECT_FALSE(waved_plan(graph, chip, Policy::Basic, false));
  const std::optional<Plan> found = waved_plan(graph, chip, Policy::Basic, true);
  ASSERT_TRUE(found);
  EXPECT_EQ(program::check(found->shard->graph, chip, found->program), std::vector<std::string>{});
}

}  // namespace
}  // namespace elk::compile
