#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/sim/tasks/folded_tasks.hpp"
#include "sim/tasks.hpp"

namespace elk::sim {
namespace {

/// Every one of `count` cores sends `bytes` to the next; ports of sending come first.
Body around(std::int32_t count, std::int64_t bytes) {
  Body body;
  for (std::int32_t core = 0; core < count; ++core) {
    send_over(body, bytes, {ResourceId{core}, ResourceId{count + ((core + 1) % count)}});
  }
  return body;
}

TEST(FoldedTasks, WhatIsEqualIsPlayedOnce) {
  constexpr std::int32_t kCores = 16;
  TaskGraph graph;
  const StreamId cores = graph.add_stream();
  graph.play(cores, graph.add(around(kCores, 1'000)));
  Body work;
  for (std::int32_t core = 0; core < kCores; ++core) {
    work.compute(ResourceId{(2 * kCores) + core}, {500});
  }
  graph.play(cores, graph.add(std::move(work)));
  const Machine machine = task_links(std::size_t{3} * kCores);
  const FoldedTasks folded = fold_tasks(machine, graph);
  EXPECT_EQ(folded.machine.resources.size(), 2U);  // ports of sending and receiving, and of SRAM
  EXPECT_EQ(folded.graph.body(BodyId{0}).sends().size(), 1U);
  EXPECT_EQ(folded.graph.body(BodyId{1}).computations().size(), 1U);
  const TasksRun run = folded.unfold(play_tasks(folded.machine, folded.graph));
  const TasksRun whole = play_tasks(machine, graph);
  EXPECT_EQ(run.tasks, whole.tasks);
  EXPECT_EQ(run.carried, whole.carried);
  EXPECT_EQ(run.busy, whole.busy);
  EXPECT_EQ(run.alone, whole.alone);
}

TEST(FoldedTasks, WhatMovesOtherBytesStaysApart) {
  TaskGraph graph;
  Body body = one_send(1'000, {ResourceId{0}});
  send_over(body, 2'000, {ResourceId{1}});
  graph.play(graph.add_stream(), graph.add(std::move(body)));
  const FoldedTasks folded = fold_tasks(task_links(3), graph);
  EXPECT_EQ(folded.machine.resources.size(), 3U);
  EXPECT_EQ(folded.graph.body(BodyId{0}).sends().size(), 2U);
}

}  // namespace
}  // namespace elk::sim
