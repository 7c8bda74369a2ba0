#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "compile/plans.hpp"
#include "elk/compile/figures.hpp"
#include "schedule/models.hpp"

namespace elk::compile {
namespace {

// What a reader of a plan file works out again is what the planner wrote.
TEST(Figures, AreThoseOfThePlan) {
  const std::int64_t kSram = 65536;
  for (const chip::Chip& chip : {test::tight_chip(16, kSram), test::grid_chip(4, 4, kSram)}) {
    const ir::Graph graph = test::transformer({.layers = 2});
    const Plan made = *plan(graph, chip, Policy::Static);
    const std::vector<Figures> found = figures(graph, chip, made.program);
    ASSERT_EQ(found.size(), made.ops.size());
    for (const OpId op : made.ops.ids()) {
      const PlannedOp& planned = made.ops[op];
      EXPECT_EQ(found[op.index()].cores, planned.option.cores);
      EXPECT_EQ(found[op.index()].steps, planned.option.steps);
      EXPECT_EQ(found[op.index()].space, planned.option.footprint.tensor);
      EXPECT_EQ(found[op.index()].preload_space, planned.state.space);
      EXPECT_EQ(found[op.index()].hbm_bytes, planned.state.hbm_bytes);
      EXPECT_EQ(found[op.index()].exchange, planned.option.exchange);
      EXPECT_EQ(found[op.index()].distribute, planned.state.distribute.bytes);
      EXPECT_EQ(found[op.index()].sent, Bytes{0});
    }
  }
}

TEST(Figures, SayWhatAChipSendsInACollective) {
  const chip::Chip pair = test::tight_pair(8, 65536);
  const ir::Graph graph = test::transformer({.layers = 2, .width = 256});
  const Plan made = *plan(graph, pair, Policy::Static, 1, Pod::Sharded);
  ASSERT_TRUE(made.shard);
  const std::vector<Figures> found = figures(made.shard->graph, chip::one_of(pair), made.program);
  bool sends = false;
  for (const OpId op : made.ops.ids()) {
    EXPECT_EQ(found[op.index()].sent, made.ops[op].option.shift.crossing);
    sends = sends || found[op.index()].sent > Bytes{0};
  }
  EXPECT_TRUE(sends);
}

}  // namespace
}  // namespace elk::compile
