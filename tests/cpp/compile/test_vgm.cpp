#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/rounds.hpp"
#include "compile/plans.hpp"
#include "cost/naive.hpp"
#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/rounding.hpp"
#include "elk/compile/compile.hpp"
#include "elk/cost/price/price.hpp"
#include "elk/ir/rounds.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/plan.hpp"
#include "schedule/models.hpp"

/// Forecasts of a virtual global memory against all cuts and all numbers of rounds, counted out
/// slowly, with stores, rounds and room by arithmetic of their own.
namespace elk::compile {
namespace {

struct SummedProduct {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  ir::DType adds_up_in;

  /// As all read from, and write to, where graph inputs lie.
  [[nodiscard]] test::OneOp shared(ir::DType result) const {
    test::OneOp one = test::matmul(m, n, k, ir::Home::Input);
    one.op().accumulate = adds_up_in;
    one.graph.tensors[TensorId{0}].home = ir::Home::Input;
    one.graph.tensors[TensorId{2}].dtype = result;
    return one;
  }

  [[nodiscard]] ir::Graph model() const {
    test::Net net;
    const TensorId x = net.tensor(ir::Home::Input, {m, k});
    test::OneOp one = test::matmul(m, n, k);
    one.op().accumulate = adds_up_in;
    net.add(one, {x}, ir::Home::Output);
    return net.done();
  }

  /// Bytes of a core that operands and the result take, evenly over all cores.
  [[nodiscard]] std::int64_t lying(std::int64_t cores) const {
    std::int64_t sum = 0;
    for (const std::int64_t elements : {m * k, k * n, m * n}) {
      sum += round_up(ceil_div(elements * 2, cores), 8);
    }
    return sum;
  }
};

chip::Chip chip_without_hbm(std::int64_t cores, std::int64_t sram) {
  chip::Chip chip = test::tight_chip(cores, sram);
  chip.hbm.reset();
  chip.interconnect.fragment_latency = {0.0};
  return chip;
}

/// The least time of `count` rounds of `part` within `room`.
std::optional<double> least(const SummedProduct& part, std::int64_t count, bool waits,
                            const chip::Chip& chip, std::int64_t room) {
  const tile::TileModel tiles = test::analytic();
  const test::OneOp one = part.shared(waits ? part.adds_up_in : ir::DType::F16);
  const chip::Interconnect& links = chip.interconnect;
  std::optional<double> best;
  for (const test::Numbers& factors : test::naive_factors(one.op(), chip.core.count)) {
    const auto plan = partition::complete_plan(
        one.graph, one.op(), factors, Table<OperandId, Table<DimId, std::int64_t>>(3), chip);
    const cost::PlanOption option = cost::price(one.graph, one.op(), plan.value(), chip, tiles);
    if (option.footprint.space.value > room) {
      continue;
    }
    std::int64_t piece = 0;
    std::int64_t parts = 0;
    const test::NaivePlan naive{.factors = factors, .temporal = option.plan.temporal};
    static_cast<void>(test::naive_result(one, OperandId{2}, naive, chip, parts, piece));
    const std::int64_t bits = ir::bits(one.graph.tensors[TensorId{2}].dtype);
    const double store =
        links.sync_latency.value + static_cast<double>(ceil_div(piece * bits, 8)) / links.link_rate;
    const double back = option.reduce.time.value + store;
    const double time =
        (static_cast<double>(count) * (option.gather.time.value + option.compute.value)) +
        (waits ? back : static_cast<double>(count) * back);
    best = std::min(best.value_or(time), time);
  }
  return best;
}

std::optional<double> least(const SummedProduct& whole, const chip::Chip& chip) {
  const std::int64_t room = chip::room(chip).value - whole.lying(chip.core.count);
  std::optional<double> best = least(whole, 1, false, chip, room);
  const auto look = [&](const SummedProduct& part, std::int64_t count, bool waits) {
    const std::optional<double> found = least(part, count, waits, chip, room);
    best = found && (!best || *found < *best) ? found : best;
  };
  for (std::int64_t count = 2; count <= std::max({whole.m, whole.n, whole.k}); ++count) {
    SummedProduct part = whole;
    if (count <= whole.m) {
      part.m = ceil_div(whole.m, count);
      look(part, count, false);
    }
    part = whole;
    if (count <= whole.n) {
      part.n = ceil_div(whole.n, count);
      look(part, count, false);
    }
    part = whole;
    if (count <= whole.k) {
      part.k = ceil_div(whole.k, count);
      look(part, count, true);
    }
  }
  return best;
}

struct SeenRounds {
  int whole = 0;
  int summed = 0;
  int parallel = 0;
  int none = 0;
};

TEST(ProductsUnderVgm, TakeTheLeastOfAllCutsAndRounds) {
  Random random{.state = 7};
  SeenRounds seen;
  for (int round = 0; round < test::rounds(120); ++round) {
    const SummedProduct product{
        .m = 1 + random.below(14),
        .n = 1 + random.below(14),
        .k = 1 + random.below(40),
        .adds_up_in = random.below(2) == 0 ? ir::DType::F16 : ir::DType::F32};
    const std::int64_t cores = 1 + random.below(6);
    const std::int64_t sram = product.lying(cores) + 16 + (8 * random.below(60));
    const chip::Chip chip = chip_without_hbm(cores, sram);
    const std::optional<double> right = least(product, chip);
    const std::optional<Plan> found = plan(product.model(), chip, Policy::Vgm);
    ASSERT_EQ(found.has_value(), right.has_value()) << "round " << round;
    if (!found) {
      ++seen.none;
      continue;
    }
    const PlannedOp& op = found->ops[OpId{0}];
    EXPECT_NEAR(op.option.time.value, *right, 1e-9 * *right) << "round " << round;
    EXPECT_GE(found->predicted.total, to_picoseconds(found->bounds.lower_bound));
    EXPECT_LE(op.option.footprint.space.value, sram - product.lying(cores));
    const bool waits = ir::sums_up(product.model().ops[OpId{0}], op.rounds);
    ++(op.rounds.count == 1 ? seen.whole : waits ? seen.summed : seen.parallel);
  }
  EXPECT_GT(seen.whole, 0);
  EXPECT_GT(seen.summed, 0);
  EXPECT_GT(seen.parallel, 0);
  EXPECT_GT(seen.none, 0);
}

TEST(VgmPlans, AreForecastsOfOneMachineWithoutHbm) {
  const ir::Graph graph = test::chain(2, 8, 32, true);
  const chip::Chip chip = chip_without_hbm(4, 1 << 14);
  const std::optional<Plan> found = plan(graph, chip, Policy::Vgm);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->program.buffers.empty());
  EXPECT_EQ(found->predicted.total, found->raw);
  EXPECT_EQ(found->origin, Policy::Vgm);
  expect_same(*found, plan(graph, chip, Policy::Vgm, 3).value());
  EXPECT_THROW(plan(graph, test::tight_chip(4, 1 << 14), Policy::Vgm), InvalidInput);
  chip::Chip pair = test::tight_pair(4, 1 << 14);
  pair.hbm.reset();
  EXPECT_TRUE(plan(graph, pair, Policy::Vgm));
  EXPECT_THROW(plan(graph, pair, Policy::Vgm, 1, Pod::Sharded), InvalidInput);
}

TEST(Rounds, AreRefusedAlongAxesThatHaveNone) {
  const ir::Graph graph = test::chain(1, 8, 32, false);
  const auto in = [&](AxisId axis, std::int64_t count) {
    Table<OpId, ir::Rounds> rounds(graph.ops.size());
    rounds[OpId{0}] = {.axis = axis, .count = count};
    return ir::in_rounds(graph, rounds);
  };
  EXPECT_EQ(in(AxisId{0}, 3).ops[OpId{0}].axes[AxisId{0}].size, 3);
  for (const AxisId axis : {AxisId::none, AxisId{3}}) {
    EXPECT_THROW(static_cast<void>(in(axis, 2)), InvalidInput);
  }
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{-2}, std::int64_t{9}}) {
    EXPECT_THROW(static_cast<void>(in(AxisId{0}, count)), InvalidInput);
  }
}

}  // namespace
}  // namespace elk::compile
