#include <vector>

#include <gtest/gtest.h>

#include "elk/sim/engine.hpp"

namespace elk::sim {
namespace {

constexpr Rate kLink{1'000'000'000};  // 1 GB/s moves a byte in 1,000 ps

Machine links(std::size_t count) {
  return {.resources = std::vector<Resource>(count, steady(kLink)), .refresh = {}};
}

Flow flow(Tag tag, std::int64_t bytes, std::span<const Use> uses) {
  return {.tag = tag, .bytes = {bytes}, .cap = {0}, .latency = {0}, .uses = uses};
}

std::vector<Event> play(Engine& engine) {
  std::vector<Event> events;
  for (auto some = engine.next(); !some.empty(); some = engine.next()) {
    events.insert(events.end(), some.begin(), some.end());
  }
  return events;
}

TEST(Engine, OneTransferTakesBytesOverRate) {
  Engine engine(links(1));
  const std::vector<Use> link = {{{0}, 1}};
  engine.start(flow(7, 1000, link), {0});
  EXPECT_EQ(play(engine), (std::vector<Event>{{{1'000'000}, EventKind::FlowEnd, 7}}));
}

TEST(Engine, AnyCountOfEqualTransfersTakesThatManyTimesAsLong) {
  const std::vector<Use> link = {{{0}, 1}};
  for (const std::int64_t count : {2, 3, 7, 24, 37, 101, 1472, 5888, 16381}) {
    Engine engine(links(1));
    for (std::int64_t k = 0; k < count; ++k) {
      engine.start(flow(k, 1000, link), {0});
    }
    const std::vector<Event> events = play(engine);
    ASSERT_EQ(events.size(), static_cast<std::size_t>(count));
    EXPECT_EQ(events.front().time, Picoseconds{1'000'000 * count});
    EXPECT_EQ(events.back().time, Picoseconds{1'000'000 * count});
  }
}

TEST(Engine, AShortTransferOnAnIdleLinkDoesNotWaitForALongOne) {
  // Two flows of 10 MB share link 0 for 20 ms; 0.1 MB on link 1 ends after 0.1 ms.
  Engine engine(links(2));
  const std::vector<Use> busy = {{{0}, 1}};
  const std::vector<Use> idle = {{{1}, 1}};
  engine.start(flow(0, 10'000'000, busy), {0});
  engine.start(flow(1, 10'000'000, busy), {0});
  engine.start(flow(2, 100'000, idle), {0});
  const std::vector<Event> events = play(engine);
  EXPECT_EQ(events.front(), (Event{{100'000'000}, EventKind::FlowEnd, 2}));
  EXPECT_EQ(events.back().time, Picoseconds{20'000'000'000});
}

TEST(Engine, ComputeRunsAtWhatFlowsLeaveOfThePort) {
  // A port of 4 GB/s; a flow takes 1 GB/s of it for 1 us, in which 3/4 us of work is done.
  Machine machine = links(1);
  machine.resources.push_back(steady({4'000'000'000}));
  Engine engine(machine);
  const std::vector<Use> uses = {{{0}, 1}, {{1}, 1}};
  engine.start(flow(0, 1000, uses), {0});
  engine.start(Compute{.tag = 1, .alone = {2'000'000}, .port = {1}}, {0});
  const std::vector<Event> events = play(engine);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1], (Event{{2'250'000}, EventKind::ComputeEnd, 1}));
}

}  // namespace
}  // namespace elk::sim
