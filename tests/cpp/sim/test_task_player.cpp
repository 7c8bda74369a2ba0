#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "sim/tasks.hpp"

namespace elk::sim {
namespace {

TEST(TaskPlayer, AStreamRunsItsTasksInOrder) {
  TaskGraph graph;
  const StreamId stream = graph.add_stream();
  graph.wait(stream, {100});
  graph.play(stream, graph.add(one_send(2, {0})));
  graph.wait(stream, {5});
  const TasksRun run = play_tasks(task_links(1), graph);
  EXPECT_EQ(run.tasks, (std::vector<Interval<Picoseconds>>{span_of(0, 100), span_of(100, 2'100),
                                                           span_of(2'100, 2'105)}));
}

TEST(TaskPlayer, ATaskBeginsWhenItsTurnHasComeAndAllThatItNamesIsOver) {
  TaskGraph graph;
  const StreamId a = graph.add_stream();
  const StreamId b = graph.add_stream();
  const StreamId c = graph.add_stream();
  const TaskId one = graph.wait(a, {300});
  const TaskId two = graph.wait(b, {200});
  graph.wait(c, {50});
  graph.wait(c, {10}, {one, two});  // 300, though its turn comes at 50
  graph.wait(a, {1}, {two});        // 300: its turn
  const TasksRun run = play_tasks(task_links(1), graph);
  EXPECT_EQ(run.tasks[3], span_of(300, 310));
  EXPECT_EQ(run.tasks[4], span_of(300, 301));
}

TEST(TaskPlayer, SendsOfStreamsShareALinkMaxMinFairly) {
  // 1 and 3 kB on one link: a half each until 2 us, then the second alone with 2 kB: 4 us.
  TaskGraph graph;
  graph.play(graph.add_stream(), graph.add(one_send(1'000, {0})));
  graph.play(graph.add_stream(), graph.add(one_send(3'000, {0, 1})));
  const TasksRun run = play_tasks(task_links(2), graph);
  EXPECT_EQ(run.tasks[0].end, Picoseconds{2'000'000});
  EXPECT_EQ(run.tasks[1].end, Picoseconds{4'000'000});
  EXPECT_EQ(run.carried, (std::vector<Bytes>{{4'000}, {3'000}}));
  EXPECT_EQ(run.busy, (std::vector<Picoseconds>{{4'000'000}, {4'000'000}}));
}

TEST(TaskPlayer, ABodyIsOverWhenTheLastOfItIs) {
  // The send of 1 kB ends at 1 us and has 700,000 ps of tail; that of 2 kB has none and ends later.
  TaskGraph graph;
  Body body = one_send(1'000, {0}, 700'000);
  send_over(body, 1'500, {1});
  body.compute({2}, {1'600'000});
  graph.play(graph.add_stream(), graph.add(std::move(body)));
  EXPECT_EQ(play_tasks(task_links(3), graph).tasks.front().end, Picoseconds{1'700'000});
}

TEST(TaskPlayer, ALinkIsFreeWhenTheLastByteHasLeft) {
  TaskGraph graph;
  graph.play(graph.add_stream(), graph.add(one_send(1'000, {0}, 5'000'000)));
  const TaskId late = graph.wait(graph.add_stream(), {1'000'000});
  graph.play(graph.add_stream(), graph.add(one_send(1'000, {0})), {late});
  const TasksRun run = play_tasks(task_links(1), graph);
  EXPECT_EQ(run.tasks[0].end, Picoseconds{6'000'000});
  EXPECT_EQ(run.tasks[2].end, Picoseconds{2'000'000});
  EXPECT_EQ(run.busy.front(), Picoseconds{2'000'000});
}

TEST(TaskPlayer, AComputationRunsAtWhatSendsLeaveOfItsPort) {
  // The port moves 1 GB/s; a send over a link of the same rate takes all of it for 1 us. The
  // computation stands still, then takes its 2 us.
  TaskGraph graph;
  Body work;
  work.compute({0}, {2'000'000});
  graph.play(graph.add_stream(), graph.add(std::move(work)));
  graph.play(graph.add_stream(), graph.add(one_send(1'000, {0, 1})));
  EXPECT_EQ(play_tasks(task_links(2), graph).tasks.front().end, Picoseconds{3'000'000});
}

TEST(TaskPlayer, ALeadFromRestPassesOnlyWhereTheStreamStoodStill) {
  TaskGraph graph;
  const StreamId memory = graph.add_stream();
  const StreamId other = graph.add_stream();
  const BodyId body = graph.add(one_send(1, {0}));
  const TaskId late = graph.wait(other, {10'000});
  const auto load = [&](std::vector<TaskId> after) {
    graph.add({.stream = memory,
               .lead = {100},
               .when = Lead::FromRest,
               .body = body,
               .after = std::move(after)});
  };
  load({});      // 100 + 1,000
  load({});      // back to back: 1,000
  load({late});  // at 10,000 after a rest
  const TasksRun run = play_tasks(task_links(1), graph);
  EXPECT_EQ(run.tasks[1], span_of(0, 1'100));
  EXPECT_EQ(run.tasks[2], span_of(1'100, 2'100));
  EXPECT_EQ(run.tasks[3], span_of(10'000, 11'100));
}

TEST(TaskPlayer, WhatLoadsNothingLastsForItsTail) {
  TaskGraph graph;
  const StreamId stream = graph.add_stream();
  Body body;
  body.send({0}, {7}, std::vector<ResourceUse>{{{0}, 1}});
  body.send({100}, {9}, {});
  body.compute({0}, {0});
  graph.play(stream, graph.add(std::move(body)));
  graph.play(stream, graph.add(Body{}));
  const TasksRun run = play_tasks(task_links(1), graph);
  EXPECT_EQ(run.tasks, (std::vector<Interval<Picoseconds>>{span_of(0, 9), span_of(9, 9)}));
  EXPECT_EQ(run.busy.front(), Picoseconds{0});
}

TEST(TaskPlayer, ABodyThatIsAloneTakesAsLongEachTime) {
  TaskGraph graph;
  const StreamId stream = graph.add_stream();
  const BodyId body = graph.add(one_send(1'000, {0}, 50));
  for (int times = 0; times < 3; ++times) {
    graph.play(stream, body);
  }
  const TasksRun run = play_tasks(task_links(1), graph);
  EXPECT_EQ(run.tasks.back(), span_of(2'000'100, 3'000'150));
  EXPECT_EQ(run.carried.front(), Bytes{3'000});
  EXPECT_EQ(run.busy.front(), Picoseconds{3'000'000});
  EXPECT_EQ(run.alone.front(), Picoseconds{1'000'050});
}

TEST(TaskPlayer, ABodyThatIsAloneOnceIsPlayedAnewInCompany) {
  TaskGraph graph;
  const StreamId a = graph.add_stream();
  const BodyId body = graph.add(one_send(1'000, {0}));
  const TaskId alone = graph.play(a, body);
  graph.play(a, body);
  graph.play(graph.add_stream(), body, {alone});
  const TasksRun run = play_tasks(task_links(1), graph);
  EXPECT_EQ(run.tasks[1], span_of(1'000'000, 3'000'000));
  EXPECT_EQ(run.tasks[2], span_of(1'000'000, 3'000'000));
}

TEST(TaskPlayer, MemoriesThatRefreshKnowWhatTimeItIs) {
  // The memory stands still from 1.5 us for 0.2 us: of three reads of 1 us the second takes 1.2.
  Machine machine = task_links(1);
  machine.resources.front().refreshes = true;
  machine.refresh = {.interval = {1'500'000}, .stall = {200'000}, .fresh = {0}};
  TaskGraph graph;
  const StreamId stream = graph.add_stream();
  const BodyId body = graph.add(one_send(1'000, {0}));
  graph.play(stream, body);
  graph.play(stream, body);
  const TasksRun run = play_tasks(machine, graph);
  EXPECT_EQ(run.tasks[0], span_of(0, 1'000'000));
  EXPECT_EQ(run.tasks[1], span_of(1'000'000, 2'200'000));
}

TEST(TaskPlayer, NothingToDoTakesNoTime) {
  EXPECT_TRUE(play_tasks(task_links(1), TaskGraph{}).tasks.empty());
}

TEST(TaskPlayer, EveryResourceIsSaidToBeExclusiveOrNot) {
  const std::vector<std::uint8_t> exclusive{1};
  EXPECT_THROW(static_cast<void>(play_tasks(task_links(2), TaskGraph{}, exclusive)), InvalidInput);
}

}  // namespace
}  // namespace elk::sim
