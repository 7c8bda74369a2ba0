#include <gtest/gtest.h>

#include "compile/plans.hpp"
#include "elk/base/ids.hpp"
#include "elk/compile/kept.hpp"
#include "elk/cost/floor/activation_floor.hpp"
#include "elk/cost/front/front.hpp"
#include "elk/cost/option.hpp"
#include "schedule/models.hpp"

namespace elk::compile {
namespace {

/// An op of which every result is made on four cores.
test::OneOp made_four_times(std::int64_t rows, std::int64_t cols) {
  test::OneOp one(ir::OpKind::Elementwise, "exp",
                  {test::parallel("r", rows, ir::TileDim::Elements),
                   test::parallel("c", cols, ir::TileDim::Elements),
                   test::parallel("z", 4, ir::TileDim::Elements)});
  one.reads(ir::Home::Activation, {rows, cols}, {test::along(AxisId{0}), test::along(AxisId{1})})
      .writes({rows, cols}, {test::along(AxisId{0}), test::along(AxisId{1})});
  return one;
}

/// A product as op 1, of what op 0 makes; `copied`: op 2 makes copies of something as large.
ir::Graph product(bool copied) {
  test::Net net;
  const TensorId made = net.add(test::exp_of(8, 64), {net.tensor(ir::Home::Input, {8, 64})});
  net.add(test::matmul(8, 32, 64), {made});
  if (copied) {
    net.add(made_four_times(8, 64), {made});
  }
  return net.done();
}

// A result of which there are copies costs less to gather, at least.
TEST(Kept, TellsFloorsApartByHowElseTensorsAreMade) {
  const chip::Chip chip = test::tight_chip(16, 65536);
  const tile::TileModel tiles = test::analytic();
  const auto afresh = [&](const ir::Graph& graph) {
    return cost::front(graph, graph.ops[OpId{1}], chip, tiles, {}).floor.corners;
  };
  const ir::Graph once = product(false);
  const ir::Graph copied = product(true);
  ASSERT_NE(afresh(once), afresh(copied));
  Kept kept;
  EXPECT_EQ(
      kept.front({once, once.ops[OpId{1}], cost::rest_once(once)}, chip, tiles, {}).floor.corners,
      afresh(once));
  EXPECT_EQ(kept.front({copied, copied.ops[OpId{1}], cost::rest_once(copied)}, chip, tiles, {})
                .floor.corners,
            afresh(copied));
}

void expect_same(const cost::PreloadState& a, const cost::PreloadState& b) {
  EXPECT_EQ(a.divisor, b.divisor);
  EXPECT_EQ(a.hbm_bytes, b.hbm_bytes);
  EXPECT_EQ(a.hbm_time, b.hbm_time);
  EXPECT_EQ(a.time, b.time);
  EXPECT_EQ(a.wire, b.wire);
  EXPECT_EQ(a.distribute, b.distribute);
}

void expect_same(const cost::Front& a, const cost::Front& b) {
  EXPECT_EQ(a.fastest, b.fastest);
  EXPECT_EQ(a.smallest, b.smallest);
  EXPECT_EQ(a.counts.complete, b.counts.complete);
  EXPECT_EQ(a.counts.filtered, b.counts.filtered);
  EXPECT_EQ(a.counts.pareto, b.counts.pareto);
  EXPECT_EQ(a.floor.execute, b.floor.execute);
  EXPECT_EQ(a.floor.link, b.floor.link);
  EXPECT_EQ(a.floor.corners, b.floor.corners);
  EXPECT_EQ(a.floor.port_uses, b.floor.port_uses);
  EXPECT_EQ(a.floor.sram_floors, b.floor.sram_floors);
  ASSERT_NE(a.floor.layout_floor, nullptr);
  ASSERT_NE(b.floor.layout_floor, nullptr);
  EXPECT_EQ(*a.floor.layout_floor, *b.floor.layout_floor);
  ASSERT_EQ(a.options.size(), b.options.size());
  for (std::size_t i = 0; i < a.options.size(); ++i) {
    EXPECT_EQ(a.options[i].plan, b.options[i].plan);
    EXPECT_EQ(a.options[i].time, b.options[i].time);
    EXPECT_EQ(a.options[i].exchange, b.options[i].exchange);
    EXPECT_EQ(a.options[i].footprint.tensors, b.options[i].footprint.tensors);
    ASSERT_EQ(a.options[i].states.size(), b.options[i].states.size());
    for (std::size_t state = 0; state < a.options[i].states.size(); ++state) {
      expect_same(a.options[i].states[state], b.options[i].states[state]);
    }
  }
}

/// `chip` with so many times the bandwidth of its HBM.
chip::Chip at_rate(chip::Chip chip, double times) {
  chip.hbm->rate *= times;
  chip.hbm->port_rate *= times;
  return chip;
}

// Parts of one tensor share a front, but for the first, along which it may rotate.
TEST(Kept, FindsFrontsOfOtherPartsOfATensor) {
  const chip::Chip chip = test::tight_chip(16, 65536);
  Kept kept;
  for (const std::int64_t begin : {0, 8, 24, 20, 28}) {  // The last reads beyond the end.
    test::OneOp part = test::matmul(8, 32, 64);
    part.graph.tensors[TensorId{0}].shape = {32, 64};
    part.graph.tensors[TensorId{0}].home = ir::Home::Input;
    part.op().operands[OperandId{0}].dims[DimId{0}].offset = begin;
    const Table<TensorId, bool> once = cost::rest_once(part.graph);
    expect_same(kept.front({part.graph, part.op(), once}, chip, test::analytic(), {}),
                cost::front(part.graph, part.op(), chip, test::analytic(), {}));
  }
  EXPECT_EQ(kept.reuse().front().first, "fronts");
  EXPECT_EQ(kept.reuse().front().second.found, 2);
}

// A front at another rate of the HBM is found without a search, and is what a search finds afresh:
// with few cuts and with so many that fronts are thinned; on a grid, too.
TEST(Kept, FindsFrontsAtOtherRatesOfTheHbm) {
  chip::Chip plain = test::tight_chip(240, 262144);
  chip::Chip grid = plain;
  grid.interconnect.topology = chip::Topology::Mesh2d;
  grid.core.rows = 15;
  grid.core.cols = 16;
  for (const chip::Chip& chip : {plain, grid}) {
    for (const std::int64_t rows : {8, 96}) {
      test::Net net;
      net.add(test::matmul(rows, 1440, 960), {net.tensor(ir::Home::Input, {rows, 960})});
      const ir::Graph graph = net.done();
      Kept kept;
      for (const double times : {1.0, 0.02, 0.3, 2.0, 9.0, 50.0}) {
        const chip::Chip other = at_rate(chip, times);
        expect_same(kept.front({graph, graph.ops[OpId{0}], cost::rest_once(graph)}, other,
                               test::analytic(), {}),
                    cost::front(graph, graph.ops[OpId{0}], other, test::analytic(), {}));
      }
      for (const auto& [name, reuse] : kept.reuse()) {
        EXPECT_EQ(reuse.found, name == "fronts" ? 5 : 0);
      }
    }
  }
}

// On a ring what moves is counted link by link and not kept, whatever else the chips have in
// common.
TEST(Kept, LeavesHandoversOfOneNetworkOutOfAnother) {
  const ir::Graph graph = test::transformer({.layers = 2});
  const chip::Chip all_to_all = test::tight_chip(16, 65536);
  chip::Chip ring = all_to_all;
  ring.interconnect.topology = chip::Topology::Ring;
  const auto planned = [&](const chip::Chip& chip, Kept* kept) {
    return compile(graph, chip, test::analytic(),
                   {.policy = Policy::ElkDyn, .threads = 1, .kept = kept});
  };
  Kept kept;
  static_cast<void>(planned(ring, &kept));
  expect_same(planned(all_to_all, &kept), planned(all_to_all, nullptr));
  expect_same(planned(ring, &kept), planned(ring, nullptr));
}

}  // namespace
}  // namespace elk::compile
