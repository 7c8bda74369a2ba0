#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/cost/front.hpp"
#include "elk/partition/enumerate.hpp"
#include "partition/ops.hpp"

namespace elk::cost {
namespace {

using test::OneOp;
using test::small_chip;
using test::two_chips;

using Numbers = std::vector<std::int64_t>;

constexpr double kSync = 90e-9;
constexpr double kLink = 5e9;
constexpr double kFragment = 2e-9;

TileModel analytic() {
  return TileModel(
      {}, {.call_cycles = 120.0, .sram_bytes_per_cycle = 16.0, .vector_elements_per_cycle = 2.0});
}

/// What the declared rule says of a call, in seconds of a core at 1 GHz.
double call(double elements, double bytes) {
  return (120.0 + (bytes / 16.0) + (elements / 2.0)) * 1e-9;
}

PlanOption priced(const OneOp& one, Numbers factors, std::vector<Numbers> temporal,
                  const chip::Chip& chip) {
  temporal.resize(one.op().operands.size());
  return price(
      one.graph, one.op(),
      *partition::complete_plan(one.graph, one.op(), std::move(factors), std::move(temporal), chip),
      chip, analytic());
}

TEST(Price, OfAWholeCutIsItsGatherAndOneTile) {
  const OneOp one = test::matmul(8, 12, 16);
  const PlanOption option = priced(one, {2, 3, 1}, {}, small_chip(6));
  const double tile = call(4.0 * 4 * 16, 2.0 * ((4 * 16) + (16 * 4) + (4 * 4)));
  EXPECT_DOUBLE_EQ(option.compute.value, tile);
  // 4 rows of 16, which lie in shares of ceil(128 / 6) = 22 elements: three runs at least.
  EXPECT_DOUBLE_EQ(option.gather.time.value, kSync + (128.0 / kLink) + (3 * kFragment));
  EXPECT_EQ(option.exchange, Bytes{128});
  EXPECT_DOUBLE_EQ(option.time.value, option.gather.time.value + tile);
}

// T10, Figure 3: holding the weights whole takes one step; cut in two, each core holds half, and
// shifts once.
TEST(Price, TradesSpaceForShiftsAsInFigure3) {
  const OneOp one = test::matmul(2, 8, 4);
  const PlanOption whole = priced(one, {2, 1, 1}, {}, small_chip(2));
  const PlanOption half = priced(one, {2, 1, 1}, {{}, {1, 2}}, small_chip(2));
  EXPECT_EQ(whole.steps, 1);
  EXPECT_EQ(half.steps, 2);
  EXPECT_EQ(whole.footprint.operand[1], Bytes{64});
  EXPECT_EQ(half.footprint.operand[1], Bytes{32});
  EXPECT_EQ(whole.shift.bytes, Bytes{0});
  EXPECT_EQ(half.shift.bytes, Bytes{32});
  const double copy = call(16.0, 8.0 * 16);  // A call without bytes of its own: two f32 an element.
  EXPECT_DOUBLE_EQ(half.shift.time.value, kSync + (32.0 / kLink) + copy);
  EXPECT_DOUBLE_EQ(half.shift.wire.value, 32.0 / kLink);
}

TEST(Price, ShiftsTheOuterTensorOnceAnOuterStep) {
  const OneOp one = test::matmul(4, 4, 4);
  const PlanOption option = priced(one, {2, 2, 1}, {{2, 1}, {1, 2}}, small_chip(4));
  EXPECT_EQ(option.steps, 4);
  // Both hold 1 x 4: along m once, along n three times, 8 bytes each.
  EXPECT_EQ(option.shift.bytes, Bytes{(1 + 3) * 8});
}

TEST(Price, ShiftsInChunksOfTheBuffer) {
  OneOp one = test::matmul(2, 4096, 8);
  chip::Chip chip = small_chip(2);
  chip.interconnect.native_shift = true;
  const PlanOption option = priced(one, {2, 1, 1}, {{}, {1, 2}}, chip);
  const double bytes = 2048.0 * 8 * 2;
  EXPECT_DOUBLE_EQ(option.shift.time.value, (4 * kSync) + (bytes / kLink));
}

TEST(Price, ReducesWhatACutReductionAxisLeaves) {
  const OneOp one = test::matmul(8, 8, 16);
  const PlanOption option = priced(one, {1, 1, 4}, {}, small_chip(4));
  const double add = call(4.0 * 16, 8.0 * 4 * 16);  // Four parts of 2 x 8.
  EXPECT_EQ(option.reduce.bytes, Bytes{3 * 16 * 2});
  EXPECT_DOUBLE_EQ(option.reduce.time.value, kSync + (96.0 / kLink) + (3 * kFragment) + add);
}

TEST(Price, AddsUpALongRowInATreeAndAShortOneDirectly) {
  chip::Chip chip = small_chip(64);
  EXPECT_FALSE(priced(test::softmax(1, 64), {1, 2}, {}, chip).tree);
  chip.interconnect.sync_latency = {1e-9};
  EXPECT_TRUE(priced(test::softmax(512, 64), {1, 64}, {}, chip).tree);
}

TEST(Price, HidesShiftsBehindComputeWhereTheChipCan) {
  const OneOp one = test::matmul(2, 8, 64);
  chip::Chip chip = small_chip(2);
  const PlanOption shown = priced(one, {2, 1, 1}, {{}, {1, 2}}, chip);
  chip.interconnect.overlaps_compute = true;
  const PlanOption hidden = priced(one, {2, 1, 1}, {{}, {1, 2}}, chip);
  EXPECT_LT(hidden.shift.time, shown.shift.time);
  EXPECT_EQ(hidden.shift.bytes, shown.shift.bytes);
  EXPECT_EQ(hidden.compute, shown.compute);
}

TEST(Price, PaysForCrossingChips) {
  const OneOp one = test::matmul(8, 8, 8);
  const PlanOption narrow = priced(one, {4, 2, 1}, {}, small_chip(8));
  const PlanOption wide = priced(one, {4, 2, 1}, {}, two_chips(4));
  EXPECT_GE(wide.gather.time.value, narrow.gather.time.value + 500e-9 + 20e-9);
  EXPECT_EQ(wide.compute, narrow.compute);
}

TEST(Price, OfAnOpWithoutActivationsHasNoGather) {
  const OneOp one = test::matmul(8, 8, 8);
  OneOp constant = one;
  constant.graph.tensors[0].home = ir::Home::Weight;
  EXPECT_EQ(priced(constant, {2, 2, 1}, {}, small_chip(8)).gather.time, Seconds{0.0});
}

TEST(States, FallInSpaceAndRiseInDistributeTime) {
  const OneOp one = test::matmul(12, 64, 64);
  const PlanOption option = priced(one, {12, 1, 1}, {}, small_chip(12));
  ASSERT_EQ(option.states.size(), 6U);
  EXPECT_EQ(option.states.front().divisor, (Numbers{0, 1, 0}));
  EXPECT_EQ(option.states.front().distribute.time, Seconds{0.0});
  EXPECT_EQ(option.states.back().divisor, (Numbers{0, 12, 0}));
  const std::int64_t full = 64 * 64 * 2;
  for (std::size_t i = 0; i < option.states.size(); ++i) {
    const PreloadState& state = option.states[i];
    const std::int64_t d = state.divisor[1];
    EXPECT_EQ(state.space, partition::preload_piece({full}, d));
    EXPECT_EQ(state.link, state.space);
    EXPECT_EQ(state.hbm_bytes, full);
    EXPECT_EQ(state.distribute.bytes, d == 1 ? Bytes{0} : Bytes{full} - state.space);
    if (i > 0) {
      EXPECT_LT(state.space, option.states[i - 1].space);
      EXPECT_GT(state.distribute.time, option.states[i - 1].distribute.time);
    }
  }
}

TEST(States, OfARotatingOperandShareItsPartition) {
  const OneOp one = test::matmul(12, 64, 64);
  const PlanOption option = priced(one, {12, 1, 1}, {{}, {1, 4}}, small_chip(12));
  EXPECT_EQ(option.states.front().space, Bytes{64 * 16 * 2});
  EXPECT_EQ(option.states.back().divisor, (Numbers{0, 3, 0}));
}

TEST(States, ReadEveryCopyWhereNothingIsMulticast) {
  const OneOp one = test::matmul(12, 64, 64);
  chip::Chip chip = small_chip(12);
  chip.interconnect.multicast = false;
  const PlanOption option = priced(one, {12, 1, 1}, {}, chip);
  EXPECT_EQ(option.states.front().hbm_bytes, 12 * 64 * 64 * 2);
  EXPECT_EQ(option.states.back().hbm_bytes, 64 * 64 * 2);
}

TEST(States, OfAnOpWithoutHbmDataAreOneOfZeros) {
  const PlanOption option = priced(test::softmax(4, 8), {2, 1}, {}, small_chip(4));
  ASSERT_EQ(option.states.size(), 1U);
  EXPECT_EQ(option.states[0].space, Bytes{0});
  EXPECT_EQ(option.states[0].time, Seconds{0.0});
}

TEST(States, OfAChipWithoutHbmAreOneOfZeros) {
  chip::Chip chip = small_chip(12);
  chip.hbm.reset();
  const PlanOption option = priced(test::matmul(12, 64, 64), {12, 1, 1}, {}, chip);
  ASSERT_EQ(option.states.size(), 1U);
  EXPECT_EQ(option.states.front().hbm_bytes, 0);
  EXPECT_EQ(option.states.front().space, Bytes{0});
}

TEST(Gather, FromNowhereIsWhatThePlanWasPricedWith) {
  for (const chip::Chip& chip : {small_chip(12), two_chips(6)}) {
    const OneOp one = test::matmul(8, 6, 10, ir::Home::Activation);
    const PlanOption option = priced(one, {2, 3, 2}, {{1, 3}}, chip);
    const std::vector<const partition::Transition*> nothing(3, nullptr);
    EXPECT_EQ(gather_all(one.graph, one.op(), option, nothing, chip), option.gather);
  }
}

TEST(Gather, OfWhatIsInPlaceTakesNoTime) {
  const chip::Chip chip = small_chip(8);
  const OneOp product = test::matmul(8, 6, 4);
  const OneOp reader = test::softmax(8, 6);
  const PlanOption made = priced(product, {8, 1, 1}, {}, chip);
  const PlanOption read = priced(reader, {8, 1}, {}, chip);
  const partition::Layout have = partition::layout(product.graph, product.op(), 2, made.plan, chip);
  const partition::Transition none = partition::transition(
      &have, partition::start_layout(reader.graph, reader.op(), 0, read.plan, chip), 16, chip);
  const std::vector<const partition::Transition*> moved{&none, nullptr};
  EXPECT_EQ(gather_all(reader.graph, reader.op(), read, moved, chip).time, Seconds{0.0});
}

TEST(Reordered, CostsTheSameOnOneChip) {
  const chip::Chip chip = small_chip(12);
  const OneOp one = test::matmul(8, 6, 4);
  const PlanOption option = priced(one, {4, 3, 1}, {}, chip);
  const PlanOption other = reordered(one.graph, one.op(), option, {0, 1}, chip);
  EXPECT_EQ(other.time, option.time);
  EXPECT_EQ(other.plan.order, (std::vector<std::int32_t>{0, 1}));
}

}  // namespace
}  // namespace elk::cost
