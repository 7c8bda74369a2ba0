#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/sim/tasks/task_graph.hpp"
#include "sim/tasks.hpp"

namespace elk::sim {
namespace {

TEST(TaskGraph, ATaskWaitsForEarlierTasksOnly) {
  TaskGraph graph;
  const StreamId stream = graph.add_stream();
  EXPECT_THROW(graph.wait(stream, {1}, {{0}}), InvalidInput);
  const TaskId first = graph.wait(stream, {1});
  EXPECT_NO_THROW(graph.wait(stream, {1}, {first}));
  EXPECT_THROW(graph.wait(stream, {1}, {{7}}), InvalidInput);
}

TEST(TaskGraph, StreamsAndBodiesHaveToBeThere) {
  TaskGraph graph;
  EXPECT_THROW(graph.wait({0}, {1}), InvalidInput);
  const StreamId stream = graph.add_stream();
  EXPECT_THROW(graph.play(stream, {0}), InvalidInput);
  EXPECT_NO_THROW(graph.play(stream, graph.add(one_send(1, {0}))));
}

TEST(TaskGraph, TimesAndBytesAreNotNegative) {
  TaskGraph graph;
  const StreamId stream = graph.add_stream();
  EXPECT_THROW(graph.wait(stream, {-1}), InvalidInput);
  Body body;
  EXPECT_THROW(body.send({-1}, {0}, {}), InvalidInput);
  EXPECT_THROW(body.send({kMostFlowBytes + 1}, {0}, {}), InvalidInput);
  EXPECT_THROW(body.send({1}, {-1}, {}), InvalidInput);
  EXPECT_THROW(body.compute({0}, {-1}), InvalidInput);
}

TEST(TaskGraph, ABodyKnowsTheWayOfEachSend) {
  Body body = one_send(5, {1, 2});
  send_over(body, 6, {3});
  ASSERT_EQ(body.sends().size(), 2U);
  EXPECT_EQ(body.uses_of(body.sends()[0]).size(), 2U);
  EXPECT_EQ(body.uses_of(body.sends()[1]).front(), (ResourceUse{{3}, 1}));
}

}  // namespace
}  // namespace elk::sim
