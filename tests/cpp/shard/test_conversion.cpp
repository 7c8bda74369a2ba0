#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/shard/conversion.hpp"
#include "schedule/models.hpp"

namespace elk::shard {
namespace {

/// Four chips with 1 GB/s between them, 1 us a message, and no time inside.
chip::Chip pod(chip::Topology topology) {
  chip::Chip chip = test::tight_pair(16, 65536);
  chip.chips = 4;
  chip.interconnect.link_rate = 1e18;
  chip.interconnect.sync_latency = {0.0};
  chip.inter_chip->rate = 1e9;
  chip.inter_chip->latency = {1e-6};
  chip.inter_chip->sync_latency = {0.0};
  chip.inter_chip->topology = topology;
  return chip;
}

TEST(ExchangeOf, FormsIsWhatTurnsOneIntoTheOther) {
  EXPECT_EQ(exchange(partial(), whole()), Conversion::AllReduce);
  EXPECT_EQ(exchange(partial(), cut(1)), Conversion::ReduceScatter);
  EXPECT_EQ(exchange(cut(0), whole()), Conversion::AllGather);
  EXPECT_EQ(exchange(cut(0), cut(1)), Conversion::AllToAll);
  EXPECT_EQ(exchange(cut(1), cut(1)), Conversion::None);
  EXPECT_EQ(exchange(whole(), cut(1)), Conversion::None);
  EXPECT_THROW(static_cast<void>(exchange(cut(0), partial())), InternalError);
}

/// What four chips pass on of a tensor.
FormChange passing(Conversion exchange, std::int64_t before, std::int64_t after) {
  return {.exchange = exchange, .before = {before}, .after = {after}};
}

constexpr std::int64_t kWhole = 4'000'000;
constexpr std::int64_t kPart = 1'000'000;

TEST(CostOfACollective, CountsTheBytesThatAChipSends) {
  const chip::Chip chip = pod(chip::Topology::AllToAll);
  // 3/4 of the tensor, 6/4 of it, and 3/4 of a quarter.
  EXPECT_EQ(cost(passing(Conversion::AllGather, kPart, kWhole), chip).sent, Bytes{3'000'000});
  EXPECT_EQ(cost(passing(Conversion::ReduceScatter, kWhole, kPart), chip).sent, Bytes{3'000'000});
  EXPECT_EQ(cost(passing(Conversion::AllReduce, kWhole, kWhole), chip).sent, Bytes{6'000'000});
  EXPECT_EQ(cost(passing(Conversion::AllToAll, kPart, kPart), chip).sent, Bytes{750'000});
  EXPECT_EQ(cost(passing(Conversion::None, kWhole, kPart), chip).sent, Bytes{0});
}

TEST(CostOfACollective, TakesTheBytesTheMessagesAndTheAdds) {
  chip::Chip chip = pod(chip::Topology::AllToAll);
  chip.core.sram_rate = 1e18;
  // Directly: 3 ms and one message. In a ring of four: three messages one after another.
  EXPECT_NEAR(cost(passing(Conversion::AllGather, kPart, kWhole), chip).time.value, 3.001e-3, 1e-9);
  const FormChange sums = passing(Conversion::AllReduce, kWhole, kWhole);
  EXPECT_NEAR(cost(sums, chip).time.value, 6.002e-3, 1e-9);
  EXPECT_GE(cost(sums, pod(chip::Topology::Ring)).time.value, 6.002e-3);
  // Two addends read and one written for each of 3/4 of the bytes, by 16 cores.
  chip.core.sram_rate = 1e9;
  EXPECT_NEAR(cost(sums, chip).time.value, 6.002e-3 + (3.0 * 3e6 / 16e9), 1e-9);
}

TEST(CostOfASlice, IsACopyOfThePart) {
  chip::Chip chip = pod(chip::Topology::AllToAll);
  chip.interconnect.sync_latency = {1e-6};
  chip.interconnect.link_rate = 1e9;
  chip.core.sram_rate = 1e9;
  EXPECT_NEAR(cost(passing(Conversion::None, kWhole, kPart), chip).time.value,
              1e-6 + (1e6 / 16e9) + (2e6 / 16e9), 1e-12);
  EXPECT_EQ(cost(passing(Conversion::None, kPart, kPart), chip).time, Seconds{0.0});
}

TEST(CostOfACollective, IsNothingOnOneChip) {
  const chip::Chip chip = test::tight_chip(16, 65536);
  EXPECT_EQ(cost(passing(Conversion::AllReduce, 1000, 1000), chip).time, Seconds{0.0});
}

}  // namespace
}  // namespace elk::shard
