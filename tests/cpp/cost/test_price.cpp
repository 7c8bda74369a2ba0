#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/cost/exchange/exchange.hpp"
#include "elk/cost/front/front.hpp"
#include "elk/cost/option.hpp"
#include "elk/cost/price/gather.hpp"
#include "elk/cost/price/price.hpp"
#include "elk/partition/enumerate.hpp"
#include "partition/ops.hpp"

namespace elk::cost {
namespace {

using test::OneOp;
using test::small_chip;
using test::two_chips;

using Numbers = Table<AxisId, std::int64_t>;

constexpr double kSync = 90e-9;
constexpr double kLink = 5e9;
constexpr double kFragment = 2e-9;

tile::TileModel analytic_tiles() {
  return tile::TileModel(
      {}, {.call_cycles = 120.0, .sram_bytes_per_cycle = 16.0, .vector_elements_per_cycle = 2.0});
}

/// What the declared rule says of a call, in seconds of a core at 1 GHz.
double call(double elements, double bytes) {
  return (120.0 + (bytes / 16.0) + (elements / 2.0)) * 1e-9;
}

PlanOption priced(const OneOp& one, Numbers factors,
                  Table<OperandId, Table<DimId, std::int64_t>> temporal, const chip::Chip& chip) {
  temporal.resize(one.op().operands.size());
  return price(
      one.graph, one.op(),
      *partition::complete_plan(one.graph, one.op(), std::move(factors), std::move(temporal), chip),
      chip, analytic_tiles());
}

TEST(Price, OfAnExchangeIsThatOfTheBusierPort) {
  Traffic traffic;
  traffic.received = 100;
  traffic.sent = 300;
  const ExchangeCost cost = Fabric(small_chip(12)).exchange(traffic);
  EXPECT_EQ(cost.bytes, Bytes{300});
  EXPECT_DOUBLE_EQ(cost.time.value, kSync + (300.0 / kLink));
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
  EXPECT_EQ(whole.footprint.operand[OperandId{1}], Bytes{64});
  EXPECT_EQ(half.footprint.operand[OperandId{1}], Bytes{32});
  EXPECT_EQ(whole.shift.bytes, Bytes{0});
  EXPECT_EQ(half.shift.bytes, Bytes{32});
  const double copy = call(16.0, 8.0 * 16);  // A call without bytes of its own: two f32 an element.
  EXPECT_DOUBLE_EQ(half.shift.time.value, kSync + (32.0 / kLink) + copy);
  EXPECT_DOUBLE_EQ(half.shift.wire.value, 32.0 / kLink);
}

// Four cores share w, 16 x 8, in 2 x 2 partitions of 64 bytes: along k three shifts, along n one.
TEST(Price, ShiftsAlongTwoDimensionsByTheirLoops) {
  const OneOp one = test::matmul(4, 8, 16);
  const PlanOption option = priced(one, {4, 1, 1}, {{}, {2, 2}}, small_chip(4));
  EXPECT_EQ(option.steps, 4);
  EXPECT_EQ(option.footprint.operand[OperandId{1}], Bytes{64});
  EXPECT_EQ(option.shift.bytes, Bytes{(3 + 1) * 64});
  const double copy = call(32.0, 8.0 * 32);
  EXPECT_DOUBLE_EQ(option.shift.time.value, 4 * (kSync + (64.0 / kLink) + copy));
}

TEST(Price, ShiftsTheOuterTensorOnceAnOuterStep) {
  const OneOp one = test::matmul(4, 4, 4);
  const PlanOption option = priced(one, {2, 2, 1}, {{2, 1}, {1, 2}}, small_chip(4));
  EXPECT_EQ(option.steps, 4);
  // Both hold 1 x 4: along m once, along n three times, 8 bytes each.
  EXPECT_EQ(option.shift.bytes, Bytes{(1 + 3) * 8});
}

chip::Chip grid(std::int64_t rows, std::int64_t cols, chip::Topology topology) {
  chip::Chip chip = small_chip(rows * cols);
  chip.interconnect.topology = topology;
  chip.core.rows = rows;
  chip.core.cols = cols;
  return chip;
}

// Weights of 4 x 8 in f16 rotate along m over six rows: five shifts of a part of ceil(4 / 6) x 4.
TEST(Price, OfAShiftOnAGridCountsTheHopsOfItsRing) {
  const OneOp one = test::matmul(6, 8, 6);
  const auto shift = [&](const chip::Chip& chip, std::int64_t parts) {
    return priced(one, {6, 2, 1}, {{}, {parts, 1}}, chip).shift;
  };
  const chip::Chip line = small_chip(12);
  const chip::Chip mesh = grid(6, 2, chip::Topology::Mesh2d);
  const chip::Chip torus = grid(6, 2, chip::Topology::Torus2d);
  const double hop = mesh.interconnect.hop_latency.value;
  // Of six parts, five shifts: around a torus by one hop, folded on a line of a mesh by two.
  EXPECT_NEAR(shift(torus, 6).time.value, shift(line, 6).time.value + (5 * 1 * hop), 1e-15);
  EXPECT_NEAR(shift(mesh, 6).time.value, shift(line, 6).time.value + (5 * 2 * hop), 1e-15);
  // Of three, two shifts: half the way around is no ring of neighbours.
  EXPECT_NEAR(shift(torus, 3).time.value, shift(line, 3).time.value + (2 * 2 * hop), 1e-15);
  EXPECT_NEAR(shift(mesh, 2).time.value, shift(line, 2).time.value + (1 * 1 * hop), 1e-15);
  EXPECT_EQ(shift(mesh, 6).wire, shift(line, 6).wire);  // One part a link, each way.
}

// Three groups of three cores reduce 1 x 4 each, in parts of two f16. Where a chip has five cores,
// the second group has two on one chip and one on the other: 2 x 1 parts of 4 bytes cross each way,
// 8 us at 1 MB/s, while cores take in their two parts. Where a chip has six, none cross.
TEST(Price, OfAReductionCountsWhatCrossesBetweenChips) {
  const OneOp one = test::matmul(3, 4, 6);
  const auto reduce = [&](std::int64_t cores) {
    chip::Chip chip = test::two_chips(cores);
    chip.inter_chip->rate = 1e6;
    return priced(one, {3, 1, 3}, {}, chip).reduce.time.value;
  };
  const double parts = (8 / kLink) + (2 * kFragment);
  EXPECT_NEAR(reduce(5) - reduce(6), 8e-6 + 500e-9 - parts, 1e-15);
}

// Partial results of 6 x 4 on six rows: 5 of 6 parts cross each link towards an end at most;
// through the middle 3 x 3 parts. Around a torus each link carries, forwards, a part that goes one
// link, two that go two and three that go three; of six rows in eight, a part fewer than 3 x 3
// passes the middle each way: the one between the ends goes round the back.
TEST(Price, OfAReductionOnATorusGoesTheShorterWayRound) {
  const OneOp one = test::matmul(12, 4, 24);
  const auto wire = [&](const chip::Chip& chip) {
    return priced(one, {1, 1, 6}, {}, chip).reduce.wire.value * kLink;
  };
  const double part = 2.0 * 4 * 2;  // Two rows of four in f16.
  EXPECT_DOUBLE_EQ(wire(grid(6, 2, chip::Topology::Mesh2d)), 9 * part);
  EXPECT_DOUBLE_EQ(wire(grid(6, 2, chip::Topology::Torus2d)), (1 + 2 + 3) * part);
  EXPECT_DOUBLE_EQ(wire(grid(8, 2, chip::Topology::Torus2d)), 8 * part);
}

/// Four chips of such a grid: their rows stand below each other.
chip::Chip pod_of(chip::Chip grid) {
  grid.chips = 4;
  grid.core.remote_access_blocks = false;
  grid.inter_chip = two_chips(1).inter_chip;
  grid.inter_chip->port_cores = grid.core.count;
  return grid;
}

// Partial results of 6 x 4 on six rows, of which a chip has two or four. Of the sums of two
// columns, the two rows of the middle chip take parts from the four others: 2 x 2 x 4 parts. On a
// chip of four rows 2 x 2 parts cross the middle link, and 2 x 4 x 2 come to either chip.
TEST(Price, OfAReductionOverChipsOfAGridCountsWhatCrosses) {
  const OneOp one = test::matmul(12, 4, 24);
  const auto reduced = [&](std::int64_t rows) {
    return priced(one, {1, 2, 6}, {}, pod_of(grid(rows, 2, chip::Topology::Mesh2d))).reduce;
  };
  const std::int64_t part = 2 * 2 * 2;  // Two rows of two in f16.
  EXPECT_EQ(reduced(2).crossing, Bytes{16 * part});
  EXPECT_DOUBLE_EQ(reduced(2).wire.value * kLink, 1.0 * part);
  EXPECT_EQ(reduced(4).crossing, Bytes{16 * part});
  EXPECT_DOUBLE_EQ(reduced(4).wire.value * kLink, 4.0 * part);
  EXPECT_EQ(reduced(6).crossing, Bytes{0});
  EXPECT_DOUBLE_EQ(reduced(6).wire.value * kLink, 9.0 * part);
}

TEST(States, OfPeersBetweenRotatingPartsShareTheLinksOfTheirLine) {
  const OneOp one = test::matmul(12, 64, 64);
  const chip::Chip mesh = grid(12, 1, chip::Topology::Mesh2d);
  // Whole: two peers exchange halves of 8,192 bytes with each other. In two parts, two pairs of
  // peers two hops apart exchange halves of 4,096 on the same links.
  const auto half = [&](const PlanOption& option) {
    for (const PreloadState& state : option.states) {
      if (state.divisor[OperandId{1}] == 2) {
        return state.distribute;
      }
    }
    return ExchangeCost{};
  };
  const ExchangeCost whole = half(priced(one, {12, 1, 1}, {}, mesh));
  const ExchangeCost parts = half(priced(one, {12, 1, 1}, {{}, {1, 2}}, mesh));
  EXPECT_DOUBLE_EQ(whole.wire.value, 4096 / kLink);
  EXPECT_DOUBLE_EQ(parts.wire.value, 2 * 2048 / kLink);
  EXPECT_NEAR(parts.time.value - whole.time.value, mesh.interconnect.hop_latency.value, 1e-15);
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

// Two steps with one shift of s after the first, behind which there is one step of compute c.
TEST(Price, AShiftSticksOutOfItsOwnStep) {
  const OneOp one = test::matmul(2, 8, 64);
  chip::Chip chip = small_chip(2);
  const PlanOption shown = priced(one, {2, 1, 1}, {{}, {1, 2}}, chip);
  chip.interconnect.overlaps_compute = true;
  const PlanOption hidden = priced(one, {2, 1, 1}, {{}, {1, 2}}, chip);
  const Seconds step{shown.compute.value / 2.0};
  EXPECT_DOUBLE_EQ(hidden.shift.time.value, std::max(0.0, (shown.shift.time - step).value));
}

// Of three shifts along k the last comes with the one along n: both stick out of one step.
TEST(Price, ShiftsOfTwoLoopsStickOutTogether) {
  const OneOp one = test::matmul(4, 8, 16);
  chip::Chip chip = small_chip(4);
  const PlanOption shown = priced(one, {4, 1, 1}, {{}, {2, 2}}, chip);
  chip.interconnect.overlaps_compute = true;
  const PlanOption hidden = priced(one, {4, 1, 1}, {{}, {2, 2}}, chip);
  const double once = shown.shift.time.value / 4.0;
  const double step = shown.compute.value / 4.0;
  ASSERT_GT(once, step);
  EXPECT_NEAR(hidden.shift.time.value, (2 * (once - step)) + ((2 * once) - step), 1e-15);
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
  constant.graph.tensors[TensorId{0}].home = ir::Home::Weight;
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
    const std::int64_t d = state.divisor[OperandId{1}];
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

TEST(States, OfAnOpThatReadsManyWeightsAreThinnedOut) {
  constexpr std::int64_t kSize = 36'864;
  constexpr std::int64_t kWeights = 20;
  OneOp one(
      ir::OpKind::Elementwise, "add",
      {test::parallel("m", kSize, ir::TileDim::M), test::parallel("n", kSize, ir::TileDim::N)});
  for (std::int64_t i = 0; i < kWeights; ++i) {
    one.reads(ir::Home::Weight, {kSize}, {test::along(AxisId{static_cast<std::int32_t>(i % 2)})});
  }
  one.writes({kSize, kSize}, {test::along(AxisId{0}), test::along(AxisId{1})});
  const PlanOption option = priced(one, {12, 12}, {}, small_chip(144));
  EXPECT_EQ(option.states.front().space, kWeights * partition::preload_piece({2 * kSize / 12}, 1));
  EXPECT_EQ(option.states.front().distribute.time, Seconds{0.0});
  EXPECT_EQ(option.states.back().space, kWeights * partition::preload_piece({2 * kSize / 12}, 12));
  EXPECT_GT(option.states.size(), 10U);
  EXPECT_LT(option.states.size(), 1000U);
}

/// Idle states of the weight of a 12 x 64 x 64 product on 12 cores: divisor, bytes kept, received.
using IdleStates = std::vector<std::array<std::int64_t, 3>>;

IdleStates idle_states(Numbers factors) {
  chip::Chip chip = small_chip(12);
  chip.hbm.reset();
  IdleStates result;
  for (const PreloadState& state :
       priced(test::matmul(12, 64, 64), std::move(factors), {}, chip).states) {
    EXPECT_EQ(state.hbm_bytes, 0);
    EXPECT_EQ(state.spread, state.divisor[OperandId{1}] == 0 ? state.space : Bytes{0});
    result.push_back(
        {state.divisor[OperandId{1}], state.space.value, state.distribute.bytes.value});
  }
  return result;
}

// A whole weight is 8,192 bytes. Evenly over 12 cores they keep 683, in eights 688 of it, as much
// as one part in 12 of a piece that all share, whose other parts come from peers.
TEST(States, OfAChipWithoutHbmAreSharesOfPiecesOrAnEvenSpread) {
  EXPECT_EQ(idle_states({12, 1, 1}), (IdleStates{{1, 8192, 0},
                                                 {2, 4096, 4096},
                                                 {3, 2736, 5456},
                                                 {4, 2048, 6144},
                                                 {6, 1368, 6824},
                                                 {12, 688, 7504}}));
  EXPECT_EQ(idle_states({1, 11, 1}), (IdleStates{{1, 768, 0}, {0, 688, 768}}));
}

TEST(Gather, FromNowhereIsWhatThePlanWasPricedWith) {
  for (const chip::Chip& chip : {small_chip(12), two_chips(6)}) {
    const OneOp one = test::matmul(8, 6, 10, ir::Home::Activation);
    const PlanOption option = priced(one, {2, 3, 2}, {{1, 3}}, chip);
    const Table<OperandId, const partition::Transition*> nothing(3, nullptr);
    EXPECT_EQ(gather_all(one.graph, one.op(), option, nothing, chip), option.gather);
  }
}

TEST(Gather, OfWhatIsInPlaceTakesNoTime) {
  const chip::Chip chip = small_chip(8);
  const OneOp product = test::matmul(8, 6, 4);
  const OneOp reader = test::softmax(8, 6);
  const PlanOption made = priced(product, {8, 1, 1}, {}, chip);
  const PlanOption read = priced(reader, {8, 1}, {}, chip);
  const partition::Layout have =
      partition::layout(product.graph, product.op(), OperandId{2}, made.plan, chip);
  const partition::Transition none = test::transition(
      have, partition::start_layout(reader.graph, reader.op(), OperandId{0}, read.plan, chip), 16,
      chip);
  const Table<OperandId, const partition::Transition*> moved{&none, nullptr};
  EXPECT_EQ(gather_all(reader.graph, reader.op(), read, moved, chip).time, Seconds{0.0});
}

}  // namespace
}  // namespace elk::cost
