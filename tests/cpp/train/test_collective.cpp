#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/train/collective.hpp"
#include "schedule/models.hpp"

namespace elk::train {
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
  EXPECT_EQ(exchange(partial(), whole()), Exchange::AllReduce);
  EXPECT_EQ(exchange(partial(), cut(1)), Exchange::ReduceScatter);
  EXPECT_EQ(exchange(cut(0), whole()), Exchange::AllGather);
  EXPECT_EQ(exchange(cut(0), cut(1)), Exchange::AllToAll);
  EXPECT_EQ(exchange(cut(1), cut(1)), Exchange::None);
  EXPECT_EQ(exchange(whole(), cut(1)), Exchange::None);
  EXPECT_THROW(static_cast<void>(exchange(cut(0), partial())), InternalError);
}

TEST(CostOfACollective, CountsTheBytesThatAChipSends) {
  const chip::Chip chip = pod(chip::Topology::AllToAll);
  const Bytes whole{4'000'000};
  // 3/4 of the tensor, 6/4 of it, and 3/4 of a quarter.
  EXPECT_EQ(cost(Exchange::AllGather, whole, chip).sent, Bytes{3'000'000});
  EXPECT_EQ(cost(Exchange::ReduceScatter, whole, chip).sent, Bytes{3'000'000});
  EXPECT_EQ(cost(Exchange::AllReduce, whole, chip).sent, Bytes{6'000'000});
  EXPECT_EQ(cost(Exchange::AllToAll, whole, chip).sent, Bytes{750'000});
  EXPECT_EQ(cost(Exchange::None, whole, chip).sent, Bytes{0});
}

TEST(CostOfACollective, TakesTheBytesAndTheMessages) {
  const Bytes whole{4'000'000};
  // Directly: 3 ms and one message. In a ring of four: three messages one after another.
  EXPECT_NEAR(cost(Exchange::AllGather, whole, pod(chip::Topology::AllToAll)).time.value, 3.001e-3,
              1e-9);
  EXPECT_NEAR(cost(Exchange::AllReduce, whole, pod(chip::Topology::AllToAll)).time.value, 6.002e-3,
              1e-9);
  EXPECT_GE(cost(Exchange::AllReduce, whole, pod(chip::Topology::Ring)).time.value, 6.002e-3);
}

TEST(CostOfACollective, IsNothingOnOneChip) {
  const chip::Chip chip = test::tight_chip(16, 65536);
  EXPECT_EQ(cost(Exchange::AllReduce, {1000}, chip).time, Seconds{0.0});
}

}  // namespace
}  // namespace elk::train
