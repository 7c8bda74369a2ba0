#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/base/text.hpp"
#include "elk/sim/network/hbm.hpp"
#include "sim/hbm_rows.hpp"

namespace elk::sim {
namespace {

/// 32 GB/s: 32 bytes a nanosecond. 100 ns to the first byte, a stall of 400 ns every 4 us.
Channel channel() {
  return {.peak = {32'000'000'000},
          .sustained = {32'000'000'000},
          .latency = {100'000},
          .refresh = {.interval = {4'000'000}, .stall = {400'000}, .fresh = {0}},
          .costs = {.row = {2000},
                    .banks = 4,
                    .burst = {32},
                    .gap = {500},
                    .wait = {10'000},
                    .queue = {128},
                    .turnaround = 0.5}};
}

constexpr ChannelTraffic kSequential{.run = {0}, .write_share = 0.0};

TEST(Channel, AReadTakesLatencyAndTimeAtPeak) {
  EXPECT_EQ(service_time(channel(), {32'000}, kSequential), Picoseconds{100'000 + 1'000'000});
}

TEST(Channel, AReadStallsAtEachRefreshItPasses) {
  // 320,000 bytes take 10 us. From 0.1 us on, boundaries at 4, 8 and, as stalls add up, none at 12:
  // 0.1 + 10 + 2 x 0.4 = 10.9 us.
  EXPECT_EQ(service_time(channel(), {320'000}, kSequential), Picoseconds{10'900'000});
  // Ending where the boundary is passes none: 3.9 us of data.
  EXPECT_EQ(service_time(channel(), {124'800}, kSequential), Picoseconds{4'000'000});
  EXPECT_EQ(service_time(channel(), {124'832}, kSequential), Picoseconds{4'401'000});
}

TEST(Channel, AShortQueueSlowsWhatFollowsFreshRows) {
  // Without refresh: 1 us at 32 B/ns, less 0.1 us of latency, then 16 B/ns.
  Channel slow = channel();
  slow.sustained = {16'000'000'000};
  slow.refresh = {.interval = {0}, .stall = {0}, .fresh = {1'000'000}};
  EXPECT_EQ(service_time(slow, {28'800 + 16'000}, kSequential), Picoseconds{2'000'000});
}

TEST(ByteWeight, SequentialBytesWeighOne) {
  EXPECT_EQ(byte_weight(channel().costs, channel().peak, kSequential), kHbmWeight);
}

TEST(ByteWeight, ScatteredRunsPayForTheirRows) {
  // 32 B: one row of 2 ns against 1 ns + 0.5 ns. 256 B: four rows, 8 ns against 8 + 2 ns.
  EXPECT_EQ(byte_weight(channel().costs, channel().peak, {.run = {32}, .write_share = 0.0}),
            2 * kHbmWeight);
  EXPECT_EQ(byte_weight(channel().costs, channel().peak, {.run = {256}, .write_share = 0.0}),
            kHbmWeight * 10 / 8);
}

TEST(ByteWeight, OtherRunsInTheQueueHideWhatARunWaitsForItsRows) {
  // 64 B: two rows, 2 ns. Beside them the queue holds 64 B of others, 2 ns of the 10 that a row
  // takes: 2 + 4/5 ns. A queue that lasts as long as a row takes hides all.
  ChannelCosts costs = channel().costs;
  costs.row = {1000};
  constexpr ChannelTraffic kRuns{.run = {64}, .write_share = 0.0};
  EXPECT_EQ(byte_weight(costs, channel().peak, kRuns), std::lround(kHbmWeight * 2.8 / 2));
  costs.queue = {64 + 320};
  EXPECT_EQ(byte_weight(costs, channel().peak, kRuns), kHbmWeight);
}

TEST(ByteWeight, TurningTheBusCostsMostHalfAndHalf) {
  EXPECT_EQ(byte_weight(channel().costs, channel().peak, {.run = {0}, .write_share = 0.5}),
            kHbmWeight * 5 / 4);
  EXPECT_EQ(byte_weight(channel().costs, channel().peak, {.run = {0}, .write_share = 1.0}),
            kHbmWeight);
}

TEST(ByteWeight, RefusesSharesThatAreNone) {
  EXPECT_THROW((void)byte_weight(channel().costs, channel().peak, {.run = {0}, .write_share = 1.1}),
               InvalidInput);
}

TEST(HbmData, TheChannelThatChipsUseIsAFittedOne) {
  const auto channels = fitted_channels(ELK_HBM_DATA);
  EXPECT_EQ(channels.at("HBM3E-like_9600Mbps_own_scaling,64").costs, kHbm3ePieces);
}

std::vector<HbmRow> rows_that(bool (*want)(const HbmRow&)) {
  std::vector<HbmRow> rows = hbm_rows(ELK_HBM_DATA);
  std::erase_if(rows, [&](const HbmRow& row) { return !want(row); });
  return rows;
}

std::string name_of(const HbmRow& row) {
  return text(row.set, " ", row.kind, ", ", row.bytes.value, " bytes in runs of ",
              row.traffic.run.value, ", writes ", row.traffic.write_share);
}

TEST(HbmData, RowsNotUsedInTheFitAreMet) {
  const auto channels = fitted_channels(ELK_HBM_DATA);
  const auto rows = rows_that([](const HbmRow& row) { return !row.used_in_fit; });
  double sum = 0.0;
  for (const HbmRow& row : rows) {
    const double error = std::abs(hbm_error(channels.at(row.set), row));
    EXPECT_LE(error, 0.08) << name_of(row);
    sum += error;
  }
  EXPECT_EQ(rows.size(), 145);
  EXPECT_LE(sum / 145, 0.015);
}

}  // namespace
}  // namespace elk::sim
