#include <vector>

#include <gtest/gtest.h>

#include "elk/sim/flows/engine.hpp"
#include "elk/sim/flows/meter.hpp"
#include "sim/played.hpp"

namespace elk::sim {
namespace {

const std::vector<ResourceUse> kOneLink = {{{0}, 1}};

Engine metered(std::int32_t most) {
  Engine engine({.resources = {steady({1'000'000'000})}, .refresh = {}});  // a byte in 1,000 ps
  engine.meter({.track = {0}, .tracks = 1, .most = most, .width = {1'000'000}});
  return engine;
}

TEST(Meter, RecordsBytesOverTimeAndWhenSomethingMoved) {
  // 1,500 bytes from 0 on, 500 from 2.5 us on: bins of 1 us get 1,000, 500 and 500.
  Engine engine = metered(8);
  engine.start(plain(0, 1500, kOneLink), {0});
  engine.start(plain(0, 500, kOneLink), {2'500'000});
  play(engine);
  const std::vector<Usage> usage = engine.usage();
  ASSERT_EQ(usage.size(), 1U);
  EXPECT_EQ(usage[0].bytes, (std::vector<double>{1000, 500, 500}));
  EXPECT_EQ(usage[0].busy,
            (std::vector<Interval<Picoseconds>>{{{0}, {1'500'000}}, {{2'500'000}, {3'000'000}}}));
  EXPECT_EQ(usage[0].busy_time, Picoseconds{2'000'000});
}

TEST(Meter, JoinsBinsAndSpansWhenThereAreTooMany) {
  // 100 bytes every 1 us for 16 us, in two bins and two spans: bins grow to 8 us.
  Engine engine = metered(2);
  for (std::int64_t k = 0; k < 16; ++k) {
    engine.start(plain(0, 100, kOneLink), {k * 1'000'000});
  }
  play(engine);
  const Usage usage = engine.usage().front();
  EXPECT_EQ(usage.width, Picoseconds{8'000'000});
  EXPECT_EQ(usage.bytes, (std::vector<double>{800, 800}));
  EXPECT_LE(usage.busy.size(), 2U);
  EXPECT_EQ(usage.busy_time, Picoseconds{1'600'000});
}

TEST(Meter, ResourcesOfOneTrackAreOne) {
  Engine engine({.resources = {steady({1'000'000'000}), steady({1'000'000'000})}, .refresh = {}});
  engine.meter({.track = {0, 0}, .tracks = 1, .most = 8, .width = {1'000'000}});
  const std::vector<ResourceUse> second = {{{1}, 1}};
  engine.start(plain(0, 1000, kOneLink), {0});
  engine.start(plain(0, 1000, second), {500'000});
  play(engine);
  const Usage usage = engine.usage().front();
  EXPECT_EQ(usage.bytes, (std::vector<double>{1500, 500}));
  EXPECT_EQ(usage.busy, (std::vector<Interval<Picoseconds>>{{{0}, {1'500'000}}}));
}

TEST(Meter, CanBeReadWhileSomethingMoves) {
  Engine engine = metered(8);
  engine.start(plain(0, 2000, kOneLink), {0});
  engine.start_timer(0, {1'000'000});
  engine.next();
  EXPECT_EQ(engine.usage().front().bytes, std::vector<double>{1000});
  EXPECT_EQ(engine.usage().front().busy, (std::vector<Interval<Picoseconds>>{{{0}, {1'000'000}}}));
  play(engine);
  EXPECT_EQ(engine.usage().front().bytes, (std::vector<double>{1000, 1000}));
}

TEST(Meter, IsOffUnlessAsked) {
  Engine engine({.resources = {steady({1'000'000'000})}, .refresh = {}});
  engine.start(plain(0, 1000, kOneLink), {0});
  play(engine);
  EXPECT_TRUE(engine.usage().empty());
}

}  // namespace
}  // namespace elk::sim
