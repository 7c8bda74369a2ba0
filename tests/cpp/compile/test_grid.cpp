#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/units.hpp"
#include "elk/cost/option.hpp"
#include "elk/cost/price/price.hpp"
#include "elk/partition/layout/layout.hpp"
#include "elk/program/expand/execution.hpp"
#include "elk/program/expand/gather.hpp"
#include "elk/program/expand/loading.hpp"
#include "elk/schedule/problem/grid.hpp"
#include "elk/sim/network/hbm.hpp"
#include "elk/sim/play/demand.hpp"
#include "elk/sim/play/player.hpp"
#include "elk/tile/times.hpp"
#include "schedule/models.hpp"

/// What the planner takes transfers on a mesh to need, and what they need when every link is
/// simulated: the same.
namespace elk::compile {
namespace {

using Numbers = std::vector<std::int64_t>;
using Axes = std::vector<std::int32_t>;

constexpr double kNano = 1e-9;

/// 4 x 4 cores; links of 5 GB/s, so that a byte takes 0.2 ns; sync 90 ns, hop and fragment 2 ns.
chip::Chip mesh() {
  chip::Chip chip = test::small_chip(16);
  chip.core.rows = 4;
  chip.core.cols = 4;
  chip.interconnect.topology = chip::Topology::Mesh2d;
  chip.interconnect.native_shift = true;
  chip.hbm->position = chip::HbmPosition::EdgesAll;
  return chip;
}

partition::ExecutePlan cut_plan(Numbers factors, Axes mesh_dims, std::size_t operands) {
  partition::ExecutePlan result{.factors = std::move(factors),
                                .temporal = std::vector<Numbers>(operands),
                                .pace = {},
                                .order = {},
                                .loops = {},
                                .mesh_dims = std::move(mesh_dims)};
  result.pace.assign(result.factors.size(), 0);
  for (std::size_t axis = 0; axis < result.factors.size(); ++axis) {
    if (result.factors[axis] > 1) {
      result.order.push_back(static_cast<std::int32_t>(axis));
    }
  }
  return result;
}

/// y[16, 16] = x[16, 64] w[64, 16] under one plan.
struct Product {
  test::OneOp one = test::matmul(16, 16, 64);
  chip::Chip chip = mesh();
  tile::TileModel tiles = test::analytic();
  cost::PlanOption option;
  program::OpPlan placed;

  explicit Product(const partition::ExecutePlan& plan, std::int64_t divisor = 1)
      : option(cost::price(one.graph, one.op(), plan, chip, tiles)),
        placed{.execute = plan, .divisor = {0, divisor, 0}} {}

  [[nodiscard]] program::PlacedOp op() const { return {one.graph, one.op(), placed, chip}; }

  [[nodiscard]] Seconds simulated(const program::Exchange& exchange) const {
    sim::Demands demands(chip, sim::Fidelity::Core);
    return to_seconds(sim::alone(demands.of(exchange))) + chip.interconnect.sync_latency;
  }
};

/// x[16, 64] as an exp left it.
partition::Layout resting(Numbers factors, Axes mesh_dims, const chip::Chip& chip) {
  const test::OneOp made = test::exp_of(16, 64);
  return partition::layout(made.graph, made.op(), 1,
                           cut_plan(std::move(factors), std::move(mesh_dims), 2), chip);
}

void expect_gather(const partition::Layout& rests, double nanoseconds) {
  const Product product(cut_plan({4, 4, 1}, {0, 1, -1}, 3));
  const std::vector<const partition::Layout*> have = {&rests, nullptr, nullptr};
  const cost::ExchangeCost planned =
      schedule::exchange_of(schedule::count_gather(product.one.graph, product.one.op(),
                                                   product.option.plan, have, product.chip),
                            product.chip, false);
  program::Exchange exchange;
  program::add_gather(product.op(), 0, &rests, exchange);
  EXPECT_NEAR(planned.time.value, nanoseconds * kNano, 1e-14);
  EXPECT_NEAR(product.simulated(exchange).value, nanoseconds * kNano, 1e-12);
}

// Everyone holds 4 x 16 of x, 128 bytes in 4 runs, and needs those of its row of cores. Out of the
// third core of a row go three pieces: 384 bytes, 76.8 ns; 12 fragments, 24 ns; three hops, 6 ns.
TEST(GridForecast, OfAGatherAlongRows) {
  expect_gather(resting({4, 4}, {0, 1}, mesh()), 90 + 76.8 + 24 + 6);
}

// The first core of every row holds 4 x 64, 512 bytes in one run, and is alone to send them: 102.4
// ns over each link of the row, 2 ns, 6 ns.
TEST(GridForecast, OfAGatherFromTheFirstColumn) {
  expect_gather(resting({4, 1}, {0, -1}, mesh()), 90 + 102.4 + 2 + 6);
}

// The cores of the first row hold 16 x 16. To each row of cores every one of them sends 128 bytes:
// out of the third core of the first row go those of three for four rows, 12 x 128 bytes; down the
// first link of each column those of four for three rows, as many: 307.2 ns. Four pieces of four
// runs arrive, 32 ns; six hops, 12 ns.
TEST(GridForecast, OfAGatherFromTheFirstRow) {
  expect_gather(resting({1, 4}, {-1, 1}, mesh()), 90 + 307.2 + 32 + 12);
}

// A column of four cores shares w, 2,048 bytes, and rotates 512 of them three times. Their ring is
// folded: every link carries one part each way, 102.4 ns, at most two hops, 4 ns.
TEST(GridForecast, OfShiftsDownAColumn) {
  partition::ExecutePlan cut = cut_plan({4, 1, 1}, {0, -1, -1}, 3);
  cut.temporal[1] = {4, 1};
  cut.pace[2] = 16;
  cut.loops = {2};
  const Product product(cut);
  const std::vector<program::RotationExchange> rotations = program::rotations(product.op());
  ASSERT_EQ(rotations.size(), 1U);
  EXPECT_NEAR(product.option.shift.time.value, 3 * (90 + 102.4 + 4) * kNano, 1e-14);
  EXPECT_NEAR(3 * product.simulated(rotations[0].exchange).value, 3 * (90 + 102.4 + 4) * kNano,
              1e-11);
}

// The operand w in 2 x 2 parts of 512 bytes. Along n, whose loop is the inner one, neighbours
// exchange theirs three times: 102.4 ns, one hop. Along k those two rows apart, once: two parts
// pass the link in the middle of the column each way, 204.8 ns, two hops.
TEST(GridForecast, OfShiftsAlongTwoDimensionsDownAColumn) {
  partition::ExecutePlan cut = cut_plan({4, 1, 1}, {0, -1, -1}, 3);
  cut.temporal[1] = {2, 2};
  cut.pace = {0, 8, 32};
  cut.loops = {2, 1};
  const Product product(cut);
  const std::vector<program::RotationExchange> rotations = program::rotations(product.op());
  ASSERT_EQ(rotations.size(), 2U);
  const double along_k = 90 + 204.8 + 4;
  const double along_n = 90 + 102.4 + 2;
  EXPECT_NEAR(product.simulated(rotations[0].exchange).value, along_k * kNano, 1e-12);
  EXPECT_NEAR(product.simulated(rotations[1].exchange).value, along_n * kNano, 1e-12);
  EXPECT_NEAR(product.option.shift.time.value, (along_k + (3 * along_n)) * kNano, 1e-14);
}

// Four cores of a row hold partial sums of y, 512 bytes, and each adds up a quarter. Across the
// middle of the row go the quarters of two cores for two others, 512 bytes; 3 fragments; 3 hops.
TEST(GridForecast, OfAReductionAlongARow) {
  const Product product(cut_plan({1, 1, 4}, {-1, -1, 1}, 3));
  const std::vector<program::ReductionRound> rounds = program::reductions(product.op());
  ASSERT_EQ(rounds.size(), 1U);
  tile::TileTimes times(product.one.graph, product.one.op(), product.chip, product.tiles);
  const double adds = times.add(rounds[0].parts, rounds[0].elements);
  EXPECT_NEAR(product.option.reduce.time.value - adds, (90 + 102.4 + 6 + 6) * kNano, 1e-14);
  EXPECT_NEAR(product.simulated(rounds[0].exchange).value, (90 + 102.4 + 6 + 6) * kNano, 1e-12);
}

/// Seconds of the preload of w, 2,048 bytes, planned and simulated.
void expect_delivery(const partition::ExecutePlan& cut, std::int64_t divisor, double nanoseconds) {
  Product product(cut, divisor);
  schedule::Deliveries deliveries(product.chip);
  deliveries.settle(product.one.graph, product.one.op(), product.option);
  std::optional<Seconds> planned;
  for (const cost::PreloadState& state : product.option.states) {
    planned = state.divisor[1] == divisor ? std::optional(state.time) : planned;
  }
  ASSERT_TRUE(planned);
  sim::Demands demands(product.chip, sim::Fidelity::Core);
  const Picoseconds simulated =
      sim::alone(demands.of(program::preload(product.op()), sim::kHbmWeight));
  EXPECT_NEAR(planned->value, nanoseconds * kNano, 1e-14);
  EXPECT_NEAR(to_seconds(simulated).value, nanoseconds * kNano, 1e-12);
}

// Every column of cores needs a slice of 512 bytes. One enters at the left and one at the right
// edge, in row 1, one at the top and one at the bottom, both in column 0: down that column and from
// it along every row to theirs. So two slices pass the first link of each row: 1,024 bytes, 204.8
// ns. The HBM would need 32 ns.
TEST(GridForecast, OfAPreloadForColumns) {
  expect_delivery(cut_plan({4, 4, 1}, {0, 1, -1}, 3), 1, 204.8);
}

// 16 slices of 128 bytes, one for each core, enter at 12 nodes: two through the busiest.
TEST(GridForecast, OfAPreloadInSlices) {
  expect_delivery(cut_plan({4, 4, 1}, {0, 1, -1}, 3), 4, 51.2);
}

}  // namespace
}  // namespace elk::compile
