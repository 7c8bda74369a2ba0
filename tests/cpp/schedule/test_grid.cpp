#include <algorithm>
#include <optional>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/chip/chip.hpp"
#include "elk/cost/front/front.hpp"
#include "elk/cost/option.hpp"
#include "elk/cost/price/price.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/schedule/problem/grid.hpp"
#include "partition/ops.hpp"

namespace elk::schedule {
namespace {

/// Two chips of 4 x 4 cores, with one module at the left and right edges of each.
chip::Chip two_grids() {
  chip::Chip chip = test::two_chips(16);
  chip.interconnect.topology = chip::Topology::Mesh2d;
  chip.core.rows = 4;
  chip.core.cols = 4;
  chip.hbm->position = chip::HbmPosition::EdgesLeftRight;
  chip.hbm->rate = 1e15;
  chip.hbm->port_rate = 1e15;
  chip.hbm->latency = {0.0};
  return chip;
}

TEST(Deliveries, TakeAsLongAsOnTheBusiestChip) {
  // Four columns of cores need 8 x 4 weights of two bytes each. The four rows of the first chip
  // have eight nodes beside them, one for each slice of 64 bytes; the one row of the second has
  // two, each of which lets two slices in.
  const test::OneOp one = test::matmul(5, 16, 8);
  const chip::Chip chip = two_grids();
  const tile::TileModel tiles(
      {}, {.call_cycles = 100.0, .sram_bytes_per_cycle = 16.0, .vector_elements_per_cycle = 2.0});
  const auto price = [&](std::int64_t rows) {
    const auto plan =
        partition::complete_plan(one.graph, one.op(), {rows, 4, 1}, {{}, {}, {}}, chip);
    cost::PlanOption option = cost::price(one.graph, one.op(), *plan, chip, tiles);
    Deliveries(chip).settle(one.graph, one.op(), option);
    return option.states.front();
  };
  const double link = chip.interconnect.link_rate;
  ASSERT_EQ(price(5).divisor[OperandId{1}], 1);
  EXPECT_DOUBLE_EQ(price(3).time.value, 64 / link);
  EXPECT_DOUBLE_EQ(price(5).time.value, 2 * 64 / link);
}

}  // namespace
}  // namespace elk::schedule
