#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/parallel.hpp"
#include "elk/base/random.hpp"
#include "elk/sim/tasks/folded_tasks.hpp"
#include "sim/tasks.hpp"

namespace elk::sim {
namespace {

constexpr std::int64_t kLinks = 7;
const std::vector<std::uint8_t> kEveryLink(kLinks, 1);

Body random_body(Random& random) {
  Body body;
  for (std::int64_t sends = random.below(6); sends > 0; --sends) {
    std::vector<std::int32_t> links(kLinks);
    std::iota(links.begin(), links.end(), 0);
    for (std::size_t l = links.size(); l > 1; --l) {
      std::swap(links[l - 1],
                links[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(l)))]);
    }
    links.resize(static_cast<std::size_t>(random.below(4)));
    std::sort(links.begin(), links.end());
    send_over(body, random.below(5'000), links, random.below(3) * 1'000);
  }
  for (std::int64_t calls = random.below(3); calls > 0; --calls) {
    body.compute({static_cast<std::int32_t>(random.below(kLinks))}, {random.below(4'000'000)});
  }
  return body;
}

TaskGraph random_tasks(std::uint64_t seed) {
  Random random{seed};
  TaskGraph graph;
  for (int stream = 0; stream < 4; ++stream) {
    graph.add_stream();
  }
  for (int body = 0; body < 6; ++body) {
    graph.add(random_body(random));
  }
  for (std::int32_t task = 0; task < 30; ++task) {
    std::vector<TaskId> after;
    for (std::int64_t more = random.below(3); more > 0 && task > 0; --more) {
      after.push_back({static_cast<std::int32_t>(random.below(task))});
    }
    const StreamId stream{static_cast<std::int32_t>(random.below(4))};
    const bool plays = random.below(4) > 0;
    const BodyId body{static_cast<std::int32_t>(random.below(6))};
    graph.add({.stream = stream,
               .lead = {random.below(2) * 700'000},
               .when = random.below(2) == 0 ? Lead::Always : Lead::FromRest,
               .body = plays ? std::optional(body) : std::nullopt,
               .after = std::move(after)});
  }
  return graph;
}

/// Bytes that tasks put on every link, and the time that the link alone takes for each send of
/// them.
struct LinkWork {
  std::vector<Bytes> bytes = std::vector<Bytes>(kLinks);
  std::vector<Picoseconds> time = std::vector<Picoseconds>(kLinks);
};

LinkWork work_of(const TaskGraph& graph) {
  LinkWork work;
  for (const Task& task : graph.tasks()) {
    if (!task.body) {
      continue;
    }
    const Body& body = graph.body(*task.body);
    for (const BodySend& send : body.sends()) {
      for (const ResourceUse& use : body.uses_of(send)) {
        work.bytes[use.resource.index()] += send.bytes;
        work.time[use.resource.index()] += Picoseconds{send.bytes.value * 1'000};
      }
    }
  }
  return work;
}

void expect_order(const TaskGraph& graph, const TasksRun& run) {
  std::vector<Picoseconds> last(graph.streams());
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    const Task& task = graph.tasks()[t];
    Picoseconds turn = last[task.stream.index()];
    for (const TaskId before : task.after) {
      turn = std::max(turn, run.tasks[before.index()].end);
    }
    EXPECT_EQ(run.tasks[t].begin, turn) << t;  // not earlier, and not later
    EXPECT_GE(run.tasks[t].end, run.tasks[t].begin);
    last[task.stream.index()] = run.tasks[t].end;
  }
}

TEST(RandomTasks, BytesAreKeptRatesAreKeptAndStreamsRunInOrder) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const TaskGraph graph = random_tasks(seed);
    const TasksRun run = play_tasks(task_links(kLinks), graph);
    expect_order(graph, run);
    const LinkWork work = work_of(graph);
    EXPECT_EQ(run.carried, work.bytes);
    for (std::size_t link = 0; link < kLinks; ++link) {
      EXPECT_GE(run.busy[link].value, run.carried[link].value * 1'000) << seed;
    }
  }
}

TEST(RandomTasks, AnExclusiveLinkIsBusyForEachSendAlone) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const TaskGraph graph = random_tasks(seed);
    const TasksRun run = play_tasks(task_links(kLinks), graph, kEveryLink);
    expect_order(graph, run);
    const LinkWork work = work_of(graph);
    EXPECT_EQ(run.carried, work.bytes);
    EXPECT_EQ(run.busy, work.time) << seed;
  }
}

TEST(RandomTasks, LinksThatNoOtherSendCrossesAreAlikeSharedAndExclusive) {
  Random random{11};
  TaskGraph graph;
  for (std::int32_t link = 0; link < kLinks; ++link) {
    graph.play(graph.add_stream(), graph.add(one_send(random.below(9'000), {link})));
  }
  EXPECT_EQ(play_tasks(task_links(kLinks), graph).tasks,
            play_tasks(task_links(kLinks), graph, kEveryLink).tasks);
}

TEST(RandomTasks, FoldedOnesTakeAsLong) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const TaskGraph graph = random_tasks(seed);
    const FoldedTasks folded = fold_tasks(task_links(kLinks), graph);
    const TasksRun run = folded.unfold(play_tasks(folded.machine, folded.graph));
    const TasksRun whole = play_tasks(task_links(kLinks), graph);
    EXPECT_EQ(run.tasks, whole.tasks) << seed;
    EXPECT_EQ(run.carried, whole.carried);
    EXPECT_EQ(run.busy, whole.busy);
  }
}

TEST(RandomTasks, EveryRunOfOneGraphIsTheSameOnAnyThread) {
  const std::vector<int> runs(8);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const auto once = [&](int) { return play_tasks(task_links(kLinks), random_tasks(seed)); };
    const TasksRun first = once(0);
    for (const int threads : {1, 2, 4}) {
      for (const TasksRun& run : parallel_map(runs, once, threads)) {
        EXPECT_EQ(run.tasks, first.tasks);
        EXPECT_EQ(run.busy, first.busy);
      }
    }
  }
}

}  // namespace
}  // namespace elk::sim
