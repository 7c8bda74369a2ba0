#include <gtest/gtest.h>

#include "compile/plans.hpp"
#include "elk/compile/kept.hpp"
#include "elk/cost/front.hpp"
#include "schedule/models.hpp"

namespace elk::compile {
namespace {

/// An op of which every result is made on four cores.
test::OneOp made_four_times(std::int64_t rows, std::int64_t cols) {
  test::OneOp one(ir::OpKind::Elementwise, "exp",
                  {test::parallel("r", rows, ir::TileDim::Elements),
                   test::parallel("c", cols, ir::TileDim::Elements),
                   test::parallel("z", 4, ir::TileDim::Elements)});
  one.reads(ir::Home::Activation, {rows, cols}, {test::along(0), test::along(1)})
      .writes({rows, cols}, {test::along(0), test::along(1)});
  return one;
}

/// A product as op 1, of what op 0 makes; `copied`: op 2 makes copies of something as large.
ir::Graph product(bool copied) {
  test::Net net;
  const std::int32_t made = net.add(test::exp_of(8, 64), {net.tensor(ir::Home::Input, {8, 64})});
  net.add(test::matmul(8, 32, 64), {made});
  if (copied) {
    net.add(made_four_times(8, 64), {made});
  }
  return net.done();
}

// A result of which there are copies costs less to gather, at least.
TEST(Kept, TellsFloorsApartByHowElseTensorsAreMade) {
  const chip::Chip chip = test::tight_chip(16, 65536);
  const cost::TileModel tiles = test::analytic();
  const auto afresh = [&](const ir::Graph& graph) {
    return cost::front(graph, graph.ops[1], chip, tiles, {}).floor.corners;
  };
  const ir::Graph once = product(false);
  const ir::Graph copied = product(true);
  ASSERT_NE(afresh(once), afresh(copied));
  Kept kept;
  EXPECT_EQ(kept.front(once, once.ops[1], chip, tiles, {}).floor.corners, afresh(once));
  EXPECT_EQ(kept.front(copied, copied.ops[1], chip, tiles, {}).floor.corners, afresh(copied));
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
