#include <vector>

#include <gtest/gtest.h>

#include "elk/sim/tasks/link_queues.hpp"
#include "sim/tasks.hpp"

namespace elk::sim {
namespace {

const std::vector<std::uint8_t> kThreeLinks{1, 1, 1};

TEST(LinkQueues, WhoAskedFirstIsFirstAtEveryLink) {
  LinkQueues queues(kThreeLinks);
  const std::vector<ResourceUse> first{{{0}, 1}, {{1}, 1}};
  const std::vector<ResourceUse> second{{{1}, 1}, {{2}, 1}};
  const std::vector<ResourceUse> third{{{2}, 1}};
  EXPECT_TRUE(queues.ask(1, first));
  EXPECT_FALSE(queues.ask(2, second));
  EXPECT_FALSE(queues.ask(3, third));  // link 2 is idle, and promised to 2
  std::vector<Tag> begin;
  queues.leave(first, begin);
  EXPECT_EQ(begin, (std::vector<Tag>{2}));
  begin.clear();
  queues.leave(second, begin);
  EXPECT_EQ(begin, (std::vector<Tag>{3}));
}

TEST(LinkQueues, WhatIsNotExclusiveKeepsNobodyBack) {
  LinkQueues queues(std::vector<std::uint8_t>{0, 1});
  const std::vector<ResourceUse> shared{{{0}, 1}};
  EXPECT_TRUE(queues.ask(1, shared));
  EXPECT_TRUE(queues.ask(2, shared));
}

TEST(ExclusiveLinks, SendsOfALinkAreServedOneAfterAnother) {
  TaskGraph graph;
  for (const std::int64_t bytes : {3'000, 1'000, 2'000}) {
    graph.play(graph.add_stream(), graph.add(one_send(bytes, {0}, 10)));
  }
  const TasksRun run = play_tasks(task_links(1), graph, std::vector<std::uint8_t>{1});
  EXPECT_EQ(run.tasks[0].end, Picoseconds{3'000'010});
  EXPECT_EQ(run.tasks[1].end, Picoseconds{4'000'010});
  EXPECT_EQ(run.tasks[2].end, Picoseconds{6'000'010});
  EXPECT_EQ(run.busy.front(), Picoseconds{6'000'000});
}

TEST(ExclusiveLinks, TheOrderIsThatOfAskingNotOfIds) {
  TaskGraph graph;
  const TaskId late = graph.wait(graph.add_stream(), {10});
  graph.play(graph.add_stream(), graph.add(one_send(1'000, {0})), {late});
  graph.play(graph.add_stream(), graph.add(one_send(1'000, {0})));
  const TasksRun run = play_tasks(task_links(1), graph, std::vector<std::uint8_t>{1});
  EXPECT_EQ(run.tasks[2].end, Picoseconds{1'000'000});
  EXPECT_EQ(run.tasks[1].end, Picoseconds{2'000'000});
}

TEST(ExclusiveLinks, AChainOfWaysIsServedAsItAsked) {
  // 0-1, 1-2, 2: the second waits for the first at link 1, the third for the second at link 2.
  TaskGraph graph;
  graph.play(graph.add_stream(), graph.add(one_send(1'000, {0, 1})));
  graph.play(graph.add_stream(), graph.add(one_send(1'000, {1, 2})));
  graph.play(graph.add_stream(), graph.add(one_send(1'000, {2})));
  graph.play(graph.add_stream(), graph.add(one_send(1'000, {0})));
  const TasksRun run = play_tasks(task_links(3), graph, kThreeLinks);
  EXPECT_EQ(run.tasks[1], span_of(0, 2'000'000));
  EXPECT_EQ(run.tasks[2], span_of(0, 3'000'000));
  EXPECT_EQ(run.tasks[3], span_of(0, 2'000'000));
}

TEST(ExclusiveLinks, SendsOfOneBodyAskInTheirOrder) {
  Body body = one_send(1'000, {0}, 5'000'000);
  send_over(body, 1'000, {0}, 0);
  TaskGraph graph;
  graph.play(graph.add_stream(), graph.add(std::move(body)));
  const TasksRun run = play_tasks(task_links(1), graph, std::vector<std::uint8_t>{1});
  EXPECT_EQ(run.tasks.front().end, Picoseconds{6'000'000});  // Else 7,000,000.
}

}  // namespace
}  // namespace elk::sim
