#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/cost/forecast.hpp"

namespace elk::cost {
namespace {

constexpr ContentionRules kFree{.port_drag = 0.0, .hbm_latency = {0.0}};

constexpr ExchangeSeries kStill{.before = {0}, .wire = {0}, .after = {0}};

/// What a timeline looks at.
struct Program {
  Table<OpId, ExecuteCost> works;
  Table<OpId, PreloadCost> loads;
  std::vector<OpId> preload_order;
  Table<OpId, std::int32_t> issued_before;
  std::vector<WriteBack> write_backs;

  operator Timeline() const {  // NOLINT(google-explicit-constructor): as the planner's own
    return {.works = works,
            .loads = loads,
            .preload_order = preload_order,
            .issued_before = issued_before,
            .write_backs = write_backs};
  }
};

ExecuteCost compute(double seconds) { return {.in = kStill, .compute = {seconds}, .out = kStill}; }

ExecuteCost exchange(double seconds) {
  return {.in = {.before = {0}, .wire = {seconds}, .after = {0}}, .compute = {0}, .out = kStill};
}

PreloadCost load(double seconds, double share) {
  return {.time = {seconds}, .share = share, .port = share};
}

TEST(Forecast, RunsExecutesOneAfterAnother) {
  const Program timeline{.works = {compute(2.0), compute(3.0)},
                         .loads = {load(0, 0), load(0, 0)},
                         .preload_order = {},
                         .issued_before = {0, 0},
                         .write_backs = {}};
  const TimelineResult result = forecast(timeline, kFree);
  EXPECT_EQ(result.executes[OpId{1}].begin, Seconds{2.0});
  EXPECT_EQ(result.total, Seconds{5.0});
}

TEST(Forecast, OverlapsAPreloadOnlyWithExecutesIssuedAfterIt) {
  const Program ahead{.works = {compute(4.0), compute(1.0)},
                      .loads = {load(0, 0), load(3.0, 0.1)},
                      .preload_order = {OpId{1}},
                      .issued_before = {1, 1},
                      .write_backs = {}};
  EXPECT_EQ(forecast(ahead, kFree).total, Seconds{5.0});
  Program late = ahead;
  late.issued_before = {0, 1};
  EXPECT_EQ(forecast(late, kFree).preloads[OpId{1}].begin, Seconds{4.0});
  EXPECT_EQ(forecast(late, kFree).total, Seconds{8.0});
}

TEST(Forecast, GivesAnExchangeWhatALightPreloadLeavesOfThePort) {
  const Program timeline{.works = {exchange(3.0), compute(0.0)},
                         .loads = {load(0, 0), load(10.0, 0.25)},
                         .preload_order = {OpId{1}},
                         .issued_before = {1, 1},
                         .write_backs = {}};
  const TimelineResult result = forecast(timeline, kFree);
  EXPECT_DOUBLE_EQ(result.executes[OpId{0}].end.value, 4.0);  // 3 s at 3/4 of the port
  EXPECT_DOUBLE_EQ(result.preloads[OpId{1}].end.value, 10.0);
}

TEST(Forecast, HalvesThePortBetweenAnExchangeAndAHeavyPreload) {
  const Program timeline{.works = {exchange(1.0), compute(0.0)},
                         .loads = {load(0, 0), load(10.0, 1.0)},
                         .preload_order = {OpId{1}},
                         .issued_before = {1, 1},
                         .write_backs = {}};
  const TimelineResult result = forecast(timeline, kFree);
  EXPECT_DOUBLE_EQ(result.executes[OpId{0}].end.value, 2.0);
  EXPECT_DOUBLE_EQ(result.preloads[OpId{1}].end.value, 11.0);  // the bytes of both pass one port
}

/// What an exchange and the preload beside it take, which streams at full rate through one region.
/// There the exchange keeps links so many fifths as busy as everywhere else.
double beside_a_preload(std::uint8_t fifths, bool regions) {
  Program timeline{.works = {exchange(4.0), compute(1.0)},
                   .loads = {load(0, 0), load(4.0, 1.0)},
                   .preload_order = {OpId{1}},
                   .issued_before = {1, 1},
                   .write_backs = {}};
  timeline.works[OpId{0}].in.use.region[0] = static_cast<std::uint8_t>(fifths * kBusiest / 5);
  timeline.loads[OpId{1}].use = {};
  timeline.loads[OpId{1}].use.region[0] = kBusiest;
  ContentionRules sharing = kFree;
  sharing.regions = regions;
  return forecast(timeline, sharing).total.value;
}

TEST(Forecast, SharesLinksOfAGridWhereAnExchangeAndAPreloadMeet) {
  // Off a grid they meet at the port, and each gets half of it.
  EXPECT_DOUBLE_EQ(beside_a_preload(1, false), (4.0 / 0.5) + 1.0);
  // The exchange keeps its pace; 4 s later a fifth of the preload is left.
  EXPECT_DOUBLE_EQ(beside_a_preload(1, true), 4.0 + (0.2 * 4.0) + 1.0);
  // Both halve the link: 4 s at 5/8 of the pace, and what is left of the preload at half of its.
  EXPECT_DOUBLE_EQ(beside_a_preload(4, true), 6.4 + (4.0 - 3.2) + 1.0);
  EXPECT_DOUBLE_EQ(beside_a_preload(5, true), beside_a_preload(5, false));
}

TEST(Forecast, SharesThePortOnlyWhileTheExchangeAndThePreloadUseIt) {
  // 1 s of sync, 1 s of bytes at half the port, as the preload's bytes come after 0.5 s, and 3 s of
  // fragments. The preload has 0.5 s alone, 1 s in the 2 s that it shares, and 2.5 s more.
  const Program timeline{
      .works = {{.in = {.before = {1}, .wire = {1}, .after = {3}}, .compute = {0}, .out = kStill},
                compute(0.0)},
      .loads = {load(0, 0), load(4.0, 1.0)},
      .preload_order = {OpId{1}},
      .issued_before = {1, 1},
      .write_backs = {}};
  const TimelineResult result = forecast(timeline, {.port_drag = 0.0, .hbm_latency = {0.5}});
  EXPECT_DOUBLE_EQ(result.executes[OpId{0}].end.value, 6.0);
  EXPECT_DOUBLE_EQ(result.preloads[OpId{1}].end.value, 5.5);
}

TEST(Forecast, SlowsComputeByTheShareOfTheSramPort) {
  const Program timeline{.works = {compute(1.0), compute(0.0)},
                         .loads = {load(0, 0), load(10.0, 0.5)},
                         .preload_order = {OpId{1}},
                         .issued_before = {1, 1},
                         .write_backs = {}};
  const TimelineResult result = forecast(timeline, {.port_drag = 0.4, .hbm_latency = {0.0}});
  EXPECT_DOUBLE_EQ(result.executes[OpId{0}].end.value, 1.0 / 0.8);
}

TEST(Forecast, PaysTheLatencyOnlyAfterTheHbmWasIdle) {
  const Program timeline{.works = {compute(0.0), compute(0.0), compute(0.0)},
                         .loads = {load(1.0, 0), load(1.0, 0), load(1.0, 0)},
                         .preload_order = {OpId{0}, OpId{1}, OpId{2}},
                         .issued_before = {3, 3, 3},
                         .write_backs = {}};
  EXPECT_EQ(forecast(timeline, {.port_drag = 0, .hbm_latency = {0.5}}).total, Seconds{3.5});
  Program one_by_one = timeline;
  one_by_one.issued_before = {1, 2, 3};
  one_by_one.works.assign(3, compute(1.0));
  EXPECT_EQ(forecast(one_by_one, {.port_drag = 0, .hbm_latency = {0.5}}).total, Seconds{7.5});
}

TEST(Forecast, ServesStoresInTheQueueOfPreloadsAndWaitsForTheLast) {
  const Program timeline{
      .works = {compute(1.0), compute(1.0)},
      .loads = {load(0, 0), load(1.0, 0)},
      .preload_order = {OpId{1}},
      .issued_before = {0, 1},
      .write_backs = {{.op = OpId{0}, .tensor = TensorId{7}, .load = load(2.0, 0)},
                      {.op = OpId{1}, .tensor = TensorId{8}, .load = load(4.0, 0)}}};
  const TimelineResult result = forecast(timeline, kFree);
  EXPECT_EQ(result.stores[0].end, Seconds{3.0});
  EXPECT_EQ(result.preloads[OpId{1}].begin, Seconds{3.0});
  EXPECT_EQ(result.executes[OpId{1}].end, Seconds{5.0});
  EXPECT_EQ(result.total, Seconds{9.0});
}

TEST(Forecast, ForgetsTheProgramBefore) {
  const Program longer{
      .works = {compute(1.0), exchange(1.0), compute(2.0)},
      .loads = {load(1.0, 0.5), load(0, 0), load(3.0, 0.2)},
      .preload_order = {OpId{0}, OpId{2}},
      .issued_before = {1, 2, 2},
      .write_backs = {{.op = OpId{1}, .tensor = TensorId{0}, .load = load(1.0, 0.1)}}};
  const Program shorter{.works = {compute(2.0)},
                        .loads = {load(1.0, 0.1)},
                        .preload_order = {OpId{0}},
                        .issued_before = {1},
                        .write_backs = {}};
  Forecaster forecaster;
  const Seconds first = forecaster.forecast(longer, kFree).total;
  EXPECT_EQ(forecaster.forecast(shorter, kFree).total, forecast(shorter, kFree).total);
  EXPECT_EQ(forecaster.forecast(longer, kFree).total, first);
}

}  // namespace
}  // namespace elk::cost
