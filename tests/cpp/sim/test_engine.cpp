#include <vector>

#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/sim/flows/engine.hpp"
#include "sim/played.hpp"

namespace elk::sim {
namespace {

constexpr Rate kLink{1'000'000'000};  // 1 GB/s moves a byte in 1,000 ps

Machine links(std::size_t count) {
  return {.resources = std::vector<Resource>(count, steady(kLink)), .refresh = {}};
}

TEST(Engine, OneTransferTakesBytesOverRate) {
  Engine engine(links(1));
  const std::vector<ResourceUse> link = {{{0}, 1}};
  engine.start(plain(7, 1000, link), {0});
  EXPECT_EQ(play(engine), (std::vector<Event>{{{1'000'000}, EventKind::FlowEnd, 7}}));
}

TEST(Engine, AnyCountOfEqualTransfersTakesThatManyTimesAsLong) {
  const std::vector<ResourceUse> link = {{{0}, 1}};
  for (const std::int64_t count : {2, 3, 7, 24, 37, 101, 1472, 5888, 16381}) {
    Engine engine(links(1));
    for (std::int64_t k = 0; k < count; ++k) {
      engine.start(plain(k, 1000, link), {0});
    }
    const std::vector<Event> events = play(engine);
    ASSERT_EQ(events.size(), static_cast<std::size_t>(count));
    EXPECT_EQ(events.front().time, Picoseconds{1'000'000 * count});
    EXPECT_EQ(events.back().time, Picoseconds{1'000'000 * count});
  }
}

TEST(Engine, TransfersOfOneLinkEndInTheOrderOfTheirSizes) {
  // Processor sharing: 1, 2 and 3 kB. The first ends when 3 x 1 kB have moved, the second 2 x 1 kB
  // later, the third 1 kB later: 3, 5 and 6 us.
  Engine engine(links(1));
  const std::vector<ResourceUse> link = {{{0}, 1}};
  for (const std::int64_t size : {3, 1, 2}) {
    engine.start(plain(size, 1000 * size, link), {0});
  }
  EXPECT_EQ(play(engine), (std::vector<Event>{{{3'000'000}, EventKind::FlowEnd, 1},
                                              {{5'000'000}, EventKind::FlowEnd, 2},
                                              {{6'000'000}, EventKind::FlowEnd, 3}}));
}

TEST(Engine, EndsAreRoundedUpToPicoseconds) {
  // 1 byte at 3 GB/s: 333.3 ps.
  Engine engine({.resources = {steady({3'000'000'000})}, .refresh = {}});
  const std::vector<ResourceUse> link = {{{0}, 1}};
  engine.start(plain(0, 1, link), {0});
  EXPECT_EQ(play(engine).front().time, Picoseconds{334});
}

TEST(Engine, AShortTransferOnAnIdleLinkDoesNotWaitForALongOne) {
  // Two flows of 10 MB share link 0 for 20 ms; 0.1 MB on link 1 ends after 0.1 ms.
  Engine engine(links(2));
  const std::vector<ResourceUse> busy = {{{0}, 1}};
  const std::vector<ResourceUse> idle = {{{1}, 1}};
  engine.start(plain(0, 10'000'000, busy), {0});
  engine.start(plain(1, 10'000'000, busy), {0});
  engine.start(plain(2, 100'000, idle), {0});
  const std::vector<Event> events = play(engine);
  EXPECT_EQ(events.front(), (Event{{100'000'000}, EventKind::FlowEnd, 2}));
  EXPECT_EQ(events.back().time, Picoseconds{20'000'000'000});
}

TEST(Engine, AFlowTakesWhatABlockedOneLeaves) {
  // Flow 0 crosses links 0 and 1; two more share link 0, one link 1. Link 0 gives each of three a
  // third; flow 3 gets the other two thirds of link 1: 3 kB / (2/3 GB/s) = 4.5 us.
  Engine engine(links(2));
  const std::vector<ResourceUse> both = {{{0}, 1}, {{1}, 1}};
  const std::vector<ResourceUse> first = {{{0}, 1}};
  const std::vector<ResourceUse> second = {{{1}, 1}};
  engine.start(plain(0, 3000, both), {0});
  engine.start(plain(1, 3000, first), {0});
  engine.start(plain(2, 3000, first), {0});
  engine.start(plain(3, 3000, second), {0});
  const std::vector<Event> events = play(engine);
  EXPECT_EQ(events.front(), (Event{{4'500'000}, EventKind::FlowEnd, 3}));
  EXPECT_EQ(events.back().time, Picoseconds{9'000'000});
}

TEST(Engine, ACapHoldsAFlowBelowItsShare) {
  // 250 MB/s of its own leave 750 MB/s for the other: 4 us and 4 us.
  Engine engine(links(1));
  const std::vector<ResourceUse> link = {{{0}, 1}};
  Flow capped = plain(0, 1000, link);
  capped.cap = {250'000'000};
  engine.start(capped, {0});
  engine.start(plain(1, 3000, link), {0});
  const std::vector<Event> events = play(engine);
  EXPECT_EQ(events.front().time, Picoseconds{4'000'000});
  EXPECT_EQ(events.back().time, Picoseconds{4'000'000});
}

TEST(Engine, LatencyPipelines) {
  // Two transfers of 1 us after one another on a link, 0.3 us on the way: 1.3 and 2.3 us, for the
  // link is free when the last byte has left.
  Engine engine(links(1));
  const std::vector<ResourceUse> link = {{{0}, 1}};
  Flow first = plain(0, 1000, link);
  first.latency = {300'000};
  Flow second = first;
  second.tag = 1;
  engine.start(first, {0});
  engine.start(second, {1'000'000});
  EXPECT_EQ(play(engine), (std::vector<Event>{{{1'300'000}, EventKind::FlowEnd, 0},
                                              {{2'300'000}, EventKind::FlowEnd, 1}}));
}

TEST(Engine, WeightsStandForEqualFlows) {
  // 1,472 flows into one memory of 1 GB/s, and one that stands for all of them.
  const std::vector<ResourceUse> one = {{{0}, 1}, {{1}, 1}};
  const std::vector<ResourceUse> all = {{{0}, 1472}, {{1}, 1}};
  Engine whole(links(1473));
  for (std::int32_t k = 1; k <= 1472; ++k) {
    const std::vector<ResourceUse> uses = {{{0}, 1}, {{k}, 1}};
    whole.start(plain(0, 12'345, uses), {0});
  }
  Engine folded(links(2));
  folded.start(plain(0, 12'345, all), {0});
  const Picoseconds end{1000LL * 12'345 * 1472};
  EXPECT_EQ(play(whole).back().time, end);
  EXPECT_EQ(play(folded).back().time, end);
  EXPECT_EQ(whole.carried({0}), folded.carried({0}));
}

TEST(Engine, ComputeRunsAtWhatFlowsLeaveOfThePort) {
  // A port of 4 GB/s; a flow takes 1 GB/s of it for 1 us, in which 3/4 us of work is done. In all
  // t + y / B: 2 us + 1,000 B / 4 GB/s.
  Machine machine = links(1);
  machine.resources.push_back(steady({4'000'000'000}));
  Engine engine(machine);
  const std::vector<ResourceUse> uses = {{{0}, 1}, {{1}, 1}};
  engine.start(plain(0, 1000, uses), {0});
  engine.start(Computation{.tag = 1, .alone = {2'000'000}, .port = {1}}, {0});
  const std::vector<Event> events = play(engine);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1], (Event{{2'250'000}, EventKind::ComputeEnd, 1}));
}

TEST(Engine, ComputeStandsStillWhileFlowsFillThePort) {
  Engine engine(links(1));
  const std::vector<ResourceUse> port = {{{0}, 1}};
  engine.start(Computation{.tag = 1, .alone = {500'000}, .port = {0}}, {0});
  engine.start(plain(0, 1000, port), {100'000});
  EXPECT_EQ(play(engine).back(), (Event{{1'500'000}, EventKind::ComputeEnd, 1}));
}

TEST(Engine, EventsOfOneTimeComeInOneOrder) {
  Engine engine(links(1));
  const std::vector<ResourceUse> link = {{{0}, 1}};
  engine.start_timer(3, {1'000'000});
  engine.start_timer(1, {1'000'000});
  engine.start(Computation{.tag = 2, .alone = {0}, .port = {0}}, {1'000'000});
  engine.start(plain(9, 1000, link), {0});
  EXPECT_EQ(play(engine), (std::vector<Event>{{{1'000'000}, EventKind::FlowEnd, 9},
                                              {{1'000'000}, EventKind::Timer, 1},
                                              {{1'000'000}, EventKind::Timer, 3},
                                              {{1'000'000}, EventKind::ComputeEnd, 2}}));
}

TEST(Engine, TransfersOfNothingTakeTheirLatency) {
  Engine engine(links(1));
  Flow nothing = plain(0, 0, {});
  nothing.latency = {5};
  engine.start(nothing, {0});
  engine.start(plain(1, 0, {}), {0});
  EXPECT_EQ(play(engine),
            (std::vector<Event>{{{0}, EventKind::FlowEnd, 1}, {{5}, EventKind::FlowEnd, 0}}));
}

TEST(Engine, RefusesWhatNoMachineCouldPlay) {
  Engine engine(links(1));
  const std::vector<ResourceUse> link = {{{0}, 1}};
  EXPECT_THROW(engine.start(plain(0, -1, link), {0}), InvalidInput);
  EXPECT_THROW(engine.start(plain(0, kMostFlowBytes + 1, link), {0}), InvalidInput);
  EXPECT_THROW(engine.start(plain(0, 1, {}), {0}), InvalidInput);
  EXPECT_THROW(Engine({.resources = {steady({0})}, .refresh = {}}), InvalidInput);
  EXPECT_THROW(Engine({.resources = {}, .refresh = {.interval = {5}, .stall = {5}, .fresh = {0}}}),
               InvalidInput);
}

TEST(Engine, RefusesToPlayForever) {
  // 1 TB at a byte a second.
  Engine engine({.resources = {steady({1})}, .refresh = {}});
  const std::vector<ResourceUse> link = {{{0}, 1}};
  engine.start(plain(0, kMostFlowBytes, link), {0});
  EXPECT_THROW((void)engine.next(), InvalidInput);
}

}  // namespace
}  // namespace elk::sim
