#include <algorithm>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/base/random.hpp"
#include "elk/sim/engine.hpp"
#include "sim/obvious.hpp"
#include "sim/played.hpp"

namespace elk::sim {
namespace {

constexpr Rate kLink{1'000'000'000};  // 1 GB/s moves a byte in 1,000 ps

Machine links(std::size_t count) {
  return {.resources = std::vector<Resource>(count, steady(kLink)), .refresh = {}};
}

TEST(Engine, OneTransferTakesBytesOverRate) {
  Engine engine(links(1));
  const std::vector<Use> link = {{{0}, 1}};
  engine.start(plain(7, 1000, link), {0});
  EXPECT_EQ(play(engine), (std::vector<Event>{{{1'000'000}, EventKind::FlowEnd, 7}}));
}

TEST(Engine, AnyCountOfEqualTransfersTakesThatManyTimesAsLong) {
  const std::vector<Use> link = {{{0}, 1}};
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
  const std::vector<Use> link = {{{0}, 1}};
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
  const std::vector<Use> link = {{{0}, 1}};
  engine.start(plain(0, 1, link), {0});
  EXPECT_EQ(play(engine).front().time, Picoseconds{334});
}

TEST(Engine, AShortTransferOnAnIdleLinkDoesNotWaitForALongOne) {
  // Two flows of 10 MB share link 0 for 20 ms; 0.1 MB on link 1 ends after 0.1 ms.
  Engine engine(links(2));
  const std::vector<Use> busy = {{{0}, 1}};
  const std::vector<Use> idle = {{{1}, 1}};
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
  const std::vector<Use> both = {{{0}, 1}, {{1}, 1}};
  const std::vector<Use> first = {{{0}, 1}};
  const std::vector<Use> second = {{{1}, 1}};
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
  const std::vector<Use> link = {{{0}, 1}};
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
  const std::vector<Use> link = {{{0}, 1}};
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
  const std::vector<Use> one = {{{0}, 1}, {{1}, 1}};
  const std::vector<Use> all = {{{0}, 1472}, {{1}, 1}};
  Engine whole(links(1473));
  for (std::int32_t k = 1; k <= 1472; ++k) {
    const std::vector<Use> uses = {{{0}, 1}, {{k}, 1}};
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
  const std::vector<Use> uses = {{{0}, 1}, {{1}, 1}};
  engine.start(plain(0, 1000, uses), {0});
  engine.start(Compute{.tag = 1, .alone = {2'000'000}, .port = {1}}, {0});
  const std::vector<Event> events = play(engine);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1], (Event{{2'250'000}, EventKind::ComputeEnd, 1}));
}

TEST(Engine, ComputeStandsStillWhileFlowsFillThePort) {
  Engine engine(links(1));
  const std::vector<Use> port = {{{0}, 1}};
  engine.start(Compute{.tag = 1, .alone = {500'000}, .port = {0}}, {0});
  engine.start(plain(0, 1000, port), {100'000});
  EXPECT_EQ(play(engine).back(), (Event{{1'500'000}, EventKind::ComputeEnd, 1}));
}

TEST(Engine, EventsOfOneTimeComeInOneOrder) {
  Engine engine(links(1));
  const std::vector<Use> link = {{{0}, 1}};
  engine.start_timer(3, {1'000'000});
  engine.start_timer(1, {1'000'000});
  engine.start(Compute{.tag = 2, .alone = {0}, .port = {0}}, {1'000'000});
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
  const std::vector<Use> link = {{{0}, 1}};
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
  const std::vector<Use> link = {{{0}, 1}};
  engine.start(plain(0, kMostFlowBytes, link), {0});
  EXPECT_THROW((void)engine.next(), InvalidInput);
}

/// Flows, computations and timers at random on a few resources.
struct RandomLoad {
  Machine machine;
  std::vector<std::vector<Use>> uses;
  std::vector<std::int64_t> bytes;
  std::vector<Picoseconds> start;
};

RandomLoad random_load(Random& random) {
  RandomLoad load;
  const std::int64_t resources = 2 + random.below(6);
  for (std::int64_t r = 0; r < resources; ++r) {
    load.machine.resources.push_back({.capacity = {1'000'000 * (1 + random.below(5000))},
                                      .sustained = {0},
                                      .refreshes = random.below(4) == 0});
  }
  load.machine.refresh = {.interval = {2'000'000}, .stall = {200'000}, .fresh = {0}};
  for (std::int64_t k = 0; k < 40; ++k) {
    std::vector<Use>& uses = load.uses.emplace_back();
    for (std::int32_t r = 0; r < resources; ++r) {
      if (random.below(3) == 0 || (r + 1 == resources && uses.empty())) {
        uses.push_back({{r}, 1 + static_cast<std::int32_t>(random.below(3))});
      }
    }
    load.bytes.push_back(random.below(5000));
    load.start.push_back({1'000'000 * random.below(4)});  // many at one time
  }
  return load;
}

std::vector<Event> play(const RandomLoad& load, const std::vector<std::size_t>& order) {
  Engine engine(load.machine);
  for (const std::size_t k : order) {
    const auto tag = static_cast<Tag>(k);
    if (k % 5 == 0) {
      engine.start(
          Compute{
              .tag = tag, .alone = {load.bytes[k] * 100}, .port = load.uses[k].front().resource},
          load.start[k]);
    } else if (k % 7 == 0) {
      engine.start_timer(tag, load.start[k]);
    } else {
      engine.start(plain(tag, load.bytes[k], load.uses[k]), load.start[k]);
    }
  }
  return play(engine);
}

std::vector<std::size_t> in_order(std::size_t count) {
  std::vector<std::size_t> order;
  for (std::size_t k = 0; k < count; ++k) {
    order.push_back(k);
  }
  return order;
}

TEST(Engine, ShuffledInsertionChangesNothing) {
  Random random{3};
  for (int round = 0; round < 300; ++round) {
    const RandomLoad load = random_load(random);
    std::vector<std::size_t> order = in_order(load.bytes.size());
    const std::vector<Event> events = play(load, order);
    for (std::size_t k = order.size(); k > 1; --k) {
      std::swap(order[k - 1],
                order[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(k)))]);
    }
    EXPECT_EQ(play(load, order), events);
  }
}

TEST(Engine, NoResourceMovesMoreThanItCanAndEveryByteArrives) {
  Random random{4};
  for (int round = 0; round < 300; ++round) {
    const RandomLoad load = random_load(random);
    Engine engine(load.machine);
    std::vector<std::int64_t> sent(load.machine.resources.size(), 0);
    std::vector<std::int32_t> tracks;
    for (std::int32_t r = 0; r < static_cast<std::int32_t>(sent.size()); ++r) {
      tracks.push_back(r);
    }
    engine.meter({.track = tracks,
                  .tracks = static_cast<std::int32_t>(sent.size()),
                  .most = 64,
                  .width = {100'000}});
    for (std::size_t k = 0; k < load.bytes.size(); ++k) {
      engine.start(plain(static_cast<Tag>(k), load.bytes[k], load.uses[k]), load.start[k]);
      for (const Use& use : load.uses[k]) {
        sent[use.resource.index()] += use.weight * load.bytes[k];
      }
    }
    EXPECT_EQ(play(engine).size(), load.bytes.size());
    const std::vector<Usage> usage = engine.usage();
    for (std::size_t r = 0; r < sent.size(); ++r) {
      EXPECT_EQ(engine.carried(id_at<ResourceId>(r)).value, sent[r]);
      const std::int64_t rate = load.machine.resources[r].capacity.value;
      EXPECT_LE(Wide{sent[r]} * 1'000'000'000'000, Wide{rate} * usage[r].busy_time.value);
      double recorded = 0.0;
      for (const double bytes : usage[r].bytes) {
        recorded += bytes;
        const double most = static_cast<double>(rate) * to_seconds(usage[r].width).value;
        EXPECT_LE(bytes, most * (1 + 1e-12));
      }
      // A flow is on its links until the picosecond after its end, so records exceed bytes by less
      // than a picosecond of the rate each.
      EXPECT_GE(recorded, static_cast<double>(sent[r]) * (1 - 1e-12));
      EXPECT_LE(recorded, static_cast<double>(sent[r]) + (40e-12 * static_cast<double>(rate)));
    }
  }
}

/// An engine the slow way: all shares anew at every event, in exact fractions. As the engine does,
/// it lets a flow end at the first whole picosecond at which nothing of it is left.
class SlowEngine {
 public:
  explicit SlowEngine(const RandomLoad& load)
      : load_(load), end_(load.bytes.size(), Picoseconds{-1}) {
    for (const std::int64_t bytes : load.bytes) {
      left_.emplace_back(bytes, 1);
    }
  }

  std::vector<Picoseconds> play() {
    while (step()) {
    }
    return end_;
  }

 private:
  bool step() {
    const std::vector<std::size_t> active = share();
    std::int64_t next = std::numeric_limits<std::int64_t>::max();
    for (const Picoseconds start : load_.start) {
      next = start > now_ ? std::min(next, start.value) : next;
    }
    for (std::size_t a = 0; a < active.size(); ++a) {
      const Fraction time = left_[active[a]] / speed_[a];
      const Wide whole = (time.num + time.den - 1) / time.den;
      next = std::min(next, now_.value + static_cast<std::int64_t>(whole));
    }
    if (next == std::numeric_limits<std::int64_t>::max()) {
      return false;
    }
    for (std::size_t a = 0; a < active.size(); ++a) {
      Fraction& left = left_[active[a]];
      left = left - (speed_[a] * Fraction{next - now_.value, 1});
      if (!(Fraction{0, 1} < left)) {
        end_[active[a]] = {next};
      }
    }
    now_ = {next};
    return true;
  }

  /// The flows under way, and into `speed_` their bytes a picosecond.
  std::vector<std::size_t> share() {
    Sharing sharing;
    std::vector<std::size_t> active;
    for (const Resource& resource : load_.machine.resources) {
      sharing.capacity.push_back(resource.capacity.value / 1'000'000'000'000);
    }
    sharing.begin.push_back(0);
    for (std::size_t k = 0; k < left_.size(); ++k) {
      if (load_.start[k] <= now_ && end_[k] < Picoseconds{0}) {
        active.push_back(k);
        sharing.cap.push_back(0);
        sharing.uses.insert(sharing.uses.end(), load_.uses[k].begin(), load_.uses[k].end());
        sharing.begin.push_back(static_cast<std::int32_t>(sharing.uses.size()));
      }
    }
    speed_ = obvious_shares(sharing);
    return active;
  }

  const RandomLoad& load_;
  std::vector<Fraction> left_;
  std::vector<Fraction> speed_;
  std::vector<Picoseconds> end_;
  Picoseconds now_{0};
};

/// Bytes and uses as of an exchange: some flows equal, all of one resource or a few.
RandomLoad random_exchange(Random& random) {
  RandomLoad load;
  const std::int64_t resources = 4 + random.below(6);
  const std::int64_t rate = (1 + random.below(12)) * 1'000'000'000'000;
  for (std::int64_t r = 0; r < resources; ++r) {
    load.machine.resources.push_back(steady({(1 + random.below(2)) * rate}));
  }
  const std::int64_t flows = 4 + random.below(9);
  for (std::int64_t k = 0; k < flows; ++k) {
    const std::int64_t from = random.below(resources);
    load.uses.push_back({{{static_cast<std::int32_t>(from)}, 1}});
    if (random.below(3) > 0) {
      const std::int64_t to = (from + 1 + random.below(resources - 1)) % resources;
      load.uses.back().push_back({{static_cast<std::int32_t>(to)}, 1});
    }
    load.bytes.push_back(random.below(2) == 0 ? 120 : 1 + random.below(500));
    load.start.push_back({40 * random.below(3)});
  }
  return load;
}

TEST(Engine, AGlanceAtWhatChangedFindsTheSharesOfASlowEngine) {
  Random random{11};
  for (int round = 0; round < 3000; ++round) {
    const RandomLoad load = random_exchange(random);
    Engine engine(load.machine);
    for (std::size_t k = 0; k < load.bytes.size(); ++k) {
      engine.start(plain(static_cast<Tag>(k), load.bytes[k], load.uses[k]), load.start[k]);
    }
    const std::vector<Picoseconds> expected = SlowEngine(load).play();
    for (const Event& event : play(engine)) {
      ASSERT_EQ(event.time, expected[static_cast<std::size_t>(event.tag)]) << round;
    }
  }
}

TEST(Engine, EndsAreThoseOfASlowEngineInExactFractions) {
  // Rates of 1 to 12 bytes a picosecond, up to six flows of up to 500 bytes that start at 0 or 40
  // ps.
  Random random{6};
  for (int round = 0; round < 3000; ++round) {
    RandomLoad load;
    const std::int64_t resources = 1 + random.below(4);
    for (std::int64_t r = 0; r < resources; ++r) {
      load.machine.resources.push_back(steady({(1 + random.below(12)) * 1'000'000'000'000}));
    }
    const std::int64_t flows = 1 + random.below(6);
    for (std::int64_t k = 0; k < flows; ++k) {
      std::vector<Use>& uses = load.uses.emplace_back();
      for (std::int32_t r = 0; r < resources; ++r) {
        if (random.below(2) == 0 || (r + 1 == resources && uses.empty())) {
          uses.push_back({{r}, 1 + static_cast<std::int32_t>(random.below(2))});
        }
      }
      load.bytes.push_back(1 + random.below(500));
      load.start.push_back({40 * random.below(2)});
    }
    Engine engine(load.machine);
    for (std::size_t k = 0; k < load.bytes.size(); ++k) {
      engine.start(plain(static_cast<Tag>(k), load.bytes[k], load.uses[k]), load.start[k]);
    }
    const std::vector<Picoseconds> expected = SlowEngine(load).play();
    for (const Event& event : play(engine)) {
      ASSERT_EQ(event.time, expected[static_cast<std::size_t>(event.tag)]) << round;
    }
  }
}

}  // namespace
}  // namespace elk::sim
