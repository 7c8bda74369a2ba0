#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rounds.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/table.hpp"
#include "elk/cost/floor/activation_floor.hpp"
#include "elk/cost/front/front.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/plan.hpp"
#include "elk/schedule/bound/bounds.hpp"
#include "elk/schedule/bound/neighbour_bound.hpp"
#include "elk/schedule/problem/known.hpp"
#include "partition/collectives.hpp"
#include "schedule/every_cut.hpp"
#include "schedule/few_ops.hpp"
#include "schedule/problems.hpp"

namespace elk::schedule {
namespace {

/// Adds a cut drawn at random into more than half as many pieces as there are cores.
void add_random_cut(Problem& problem, OpId op, Random& random) {
  const ir::Op& node = problem.graph().ops[op];
  const std::int64_t all = chip::total_cores(problem.chip());
  Table<AxisId, std::int64_t> factors;
  std::int64_t cores = 0;
  while (2 * cores < all) {
    factors.clear();
    cores = 1;
    for (const ir::Axis& axis : node.axes) {
      const Table<AxisId, std::int64_t> some = partition::distinct_factors(axis.size, all / cores);
      factors.push_back(some[id_at<AxisId>(random.below(static_cast<std::int64_t>(some.size())))]);
      cores *= factors.back();
    }
  }
  if (const auto plan = partition::complete_plan(problem.graph(), node, factors,
                                                 test::unturned(node), problem.chip())) {
    problem.add(op, *plan);
  }
}

double floors(const Problem& problem) {
  double sum = 0.0;
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    sum += problem.front(op).floor.execute.value;
  }
  return sum;
}

/// What holding a bound against every choice of plans has shown.
struct Held {
  int higher = 0;  // than the floors, which would hold, too
  double nearest = 0.0;
};

/// Expects the bound of the executes of `graph` on `chip` between its floors and the least of every
/// choice of cuts, `turned`: also of rotations.
void expect_below_every_choice(const ir::Graph& graph, const chip::Chip& chip, bool turned,
                               Held& held) {
  const tile::TileModel tiles = test::analytic();
  Problem problem = test::problem(graph, chip, tiles);
  const NeighbourBound executes = neighbour_bound(problem, NeighbourSum::Executes);
  const NeighbourBound ports = neighbour_bound(problem, NeighbourSum::Ports);
  const double each = floors(problem);
  ASSERT_EQ(executes.ops.size(), graph.ops.size());
  test::add_cuts(problem, turned);
  const double least = test::least_of_all(problem);
  EXPECT_LE(executes.time.value, least * (1.0 + 1e-9));
  EXPECT_GE(executes.time.value, each * (1.0 - 1e-9));
  EXPECT_LE(ports.time.value, executes.time.value * (1.0 + 1e-9));
  held.higher += executes.time.value > each * (1.0 + 1e-6) ? 1 : 0;
  held.nearest = std::max(held.nearest, executes.time.value / least);
}

TEST(NeighbourBound, LiesBelowEveryChoiceOfCutsAndAboveTheFloors) {
  Random random{41};
  Held held;
  for (int round = 0; round < test::rounds(60); ++round) {
    SCOPED_TRACE(round);
    const ir::Graph graph = test::few_ops(random);
    expect_below_every_choice(graph, test::few_cores(random), false, held);
  }
  EXPECT_GT(held.higher, test::rounds(12));
  EXPECT_GT(held.nearest, 0.97);
}

// A core that shares what it reads may fetch a part of it and have the rest come in shifts, in
// fewer fragments.
TEST(NeighbourBound, LiesBelowEveryChoiceOfCutsAndTurns) {
  Random random{59};
  Held held;
  for (int round = 0; round < test::rounds(60); ++round) {
    SCOPED_TRACE(round);
    const std::int64_t rows = test::one_of<std::int64_t, 3>(random, {2, 3, 4});
    const std::int64_t width = test::one_of<std::int64_t, 3>(random, {60, 128, 500});
    test::Net net;
    TensorId x = net.tensor(ir::Home::Input, {rows, width});
    x = TensorId{net.add(test::matmul(rows, width, width), {x})};
    net.add(test::matmul(rows, width, width), {x}, ir::Home::Output);
    chip::Chip chip = test::few_cores(random);
    chip.core.sram = {1 << 20};
    chip.interconnect.link_rate = 8e9;
    chip.interconnect.sync_latency = {1e-9};
    chip.interconnect.fragment_latency = {test::one_of<double, 3>(random, {2e-9, 1e-8, 4e-8})};
    expect_below_every_choice(net.done(), chip, true, held);
  }
  EXPECT_GT(held.higher, test::rounds(50));
  EXPECT_GT(held.nearest, 0.97);
}

/// exp of results of a product, of which a dimension is read as heads of some width each.
test::OneOp exp_of_heads(std::int64_t rows, std::int64_t heads, std::int64_t width) {
  test::OneOp one(ir::OpKind::Elementwise, "exp",
                  {test::parallel("r", rows, ir::TileDim::Elements),
                   test::parallel("h", heads, ir::TileDim::Elements),
                   test::parallel("d", width, ir::TileDim::Elements)});
  one.reads(ir::Home::Activation, {rows, heads * width},
            {test::along(AxisId{0}), test::mapped({AxisId{1}, AxisId{2}}, {width, 1})})
      .writes({rows, heads, width},
              {test::along(AxisId{0}), test::along(AxisId{1}), test::along(AxisId{2})});
  return one;
}

// How much of a dimension cores need is told where several axes number it, too.
TEST(NeighbourBound, LiesBelowEveryChoiceOfCutsOfHeads) {
  Random random{61};
  Held held;
  for (int round = 0; round < test::rounds(60); ++round) {
    SCOPED_TRACE(round);
    const std::int64_t rows = test::one_of<std::int64_t, 3>(random, {2, 3, 4});
    const std::int64_t heads = test::one_of<std::int64_t, 3>(random, {2, 3, 4});
    const std::int64_t width = test::one_of<std::int64_t, 3>(random, {6, 16, 50});
    test::Net net;
    TensorId x = net.tensor(ir::Home::Input, {rows, 500});
    x = TensorId{net.add(test::matmul(rows, heads * width, 500), {x})};
    net.add(exp_of_heads(rows, heads, width), {x}, ir::Home::Output);
    chip::Chip chip = test::few_cores(random);
    chip.core.count = test::one_of<std::int64_t, 3>(random, {6, 12, 24});
    chip.core.sram = {1 << 20};
    chip.interconnect.link_rate = 8e9;
    chip.interconnect.fragment_latency = {2e-9};
    expect_below_every_choice(net.done(), chip, true, held);
  }
  EXPECT_GT(held.higher, test::rounds(9));
  EXPECT_GT(held.nearest, 0.97);
}

/// One of four chips with 1 GB/s between them.
chip::Chip one_of_four(Random& random) {
  chip::Chip chip = chip::one_of(test::tight_pair(6, 65536));
  chip.interconnect = test::few_cores(random).interconnect;
  chip.inter_chip->rate = 1e9;
  chip.inter_chip->port_cores = 6;
  return chip;
}

// No axis along which a collective's chips differ is cut: its result rests once, as all others do.
TEST(NeighbourBound, LiesBelowEveryChoiceOfCutsBehindACollective) {
  const tile::TileModel tiles = test::analytic();
  Random random{53};
  for (const ir::OpKind kind : {ir::OpKind::AllReduce, ir::OpKind::AllGather,
                                ir::OpKind::ReduceScatter, ir::OpKind::AllToAll}) {
    const test::OneOp exchange = test::collective(kind, 8, 32, 4);
    const ir::Tensor& before = exchange.graph.tensors[TensorId{0}];
    const ir::Tensor& after = exchange.graph.tensors[TensorId{1}];
    for (int round = 0; round < 10; ++round) {
      test::Net net;
      TensorId x = net.tensor(ir::Home::Input, before.shape);
      x = TensorId{net.add(test::exp_of(before.shape[DimId{0}], before.shape[DimId{1}]), {x})};
      x = TensorId{net.add(exchange, {x})};
      net.add(test::matmul(after.shape[DimId{0}], 12, after.shape[DimId{1}]), {x},
              ir::Home::Output);
      const ir::Graph graph = net.done();
      EXPECT_TRUE(cost::rest_once(graph)[graph.ops[OpId{2}].operands[OperandId{0}].tensor]);
      const chip::Chip chip = one_of_four(random);
      Problem problem = test::problem(graph, chip, tiles);
      const NeighbourBound found = neighbour_bound(problem, NeighbourSum::Executes);
      EXPECT_EQ(found.ops.back(), OpId{0});
      EXPECT_EQ(found.ops.front(), OpId{2});
      test::add_cuts(problem);
      const double least = test::least_of_all(problem);
      const double rest = problem.front(OpId{1}).floor.execute.value;
      EXPECT_LE(found.time.value + rest, least * (1.0 + 1e-9)) << "round " << round;
      EXPECT_GE(found.time.value + rest, floors(problem) * (1.0 - 1e-9)) << "round " << round;
    }
  }
}

TEST(NeighbourBound, LiesBelowPairsOfPlansInVastSpaces) {
  constexpr std::int64_t kRows = 2048;
  constexpr std::int64_t kWidth = 1152;
  const tile::TileModel tiles = test::analytic();
  test::Net net;
  const TensorId x = net.tensor(ir::Home::Input, {kRows, kWidth});
  const TensorId y = net.add(test::matmul(kRows, 4 * kWidth, kWidth), {x});
  net.add(test::exp_of(kRows, 4 * kWidth), {y}, ir::Home::Output);
  const ir::Graph graph = net.done();
  const chip::Chip chip = test::tight_chip(2800, 638'976);
  ASSERT_TRUE(cost::is_vast(graph.ops[OpId{0}], chip));
  Problem problem = test::problem(graph, chip, tiles);
  const NeighbourBound found = neighbour_bound(problem, NeighbourSum::Executes);
  ASSERT_EQ(found.ops.size(), 2);
  EXPECT_GT(found.time.value, floors(problem) * (1.0 + 1e-6));
  Random random{47};
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    for (int round = 0; round < 50; ++round) {
      add_random_cut(problem, op, random);
    }
  }
  const double least = test::least_of_all(problem);
  EXPECT_LE(found.time.value, least);
  EXPECT_GT(found.time.value, 0.8 * least);
}

TEST(NeighbourBound, IsKeptForTheSameFrontsAlone) {
  const tile::TileModel tiles = test::analytic();
  Random random{73};
  for (int round = 0; round < 20; ++round) {
    const ir::Graph graph = test::few_ops(random);
    const chip::Chip chip = test::few_cores(random);
    ProblemShelves known;
    const auto knowing = [&](const Problem& like) {
      return Problem(graph, chip, tiles, {.all = like.fronts(), .of = like.front_of()},
                     {.known = &known});
    };
    Problem first = knowing(test::problem(graph, chip, tiles));
    const double all = neighbour_bound(first, NeighbourSum::Executes).time.value;
    Problem again = knowing(first);
    EXPECT_EQ(neighbour_bound(again, NeighbourSum::Executes).time.value, all);
    EXPECT_EQ(known.neighbours.reuse().found, 1);
    std::vector<ExtraTime> extra;
    for (const OpId op : first_ids<OpId>(again.op_count())) {
      extra.push_back({.least = again.front(op).floor.execute.value});
    }
    EXPECT_EQ(neighbour_bound(again, NeighbourSum::Executes, extra).time.value, all);
    EXPECT_EQ(known.neighbours.reuse().found, 1);
    // As good, but not the same.
    Problem other = knowing(test::problem(graph, chip, tiles));
    EXPECT_EQ(neighbour_bound(other, NeighbourSum::Executes).time.value, all);
    EXPECT_EQ(known.neighbours.reuse().found, 1);
  }
}

TEST(NeighbourBound, CountsNoMoreOfAnExcessThanAsked) {
  const tile::TileModel tiles = test::analytic();
  Random random{79};
  int lower = 0;
  for (int round = 0; round < 40; ++round) {
    const ir::Graph graph = test::few_ops(random);
    const chip::Chip chip = test::few_cores(random);
    const Problem problem = test::problem(graph, chip, tiles);
    const double all = neighbour_bound(problem, NeighbourSum::Executes).time.value;
    const double floor = floors(problem);
    std::vector<ExtraTime> extra;
    for (const OpId op : first_ids<OpId>(problem.op_count())) {
      extra.push_back({.least = problem.front(op).floor.execute.value, .most = 0.0});
    }
    const auto bound = [&] {
      return neighbour_bound(problem, NeighbourSum::Executes, extra).time.value;
    };
    EXPECT_NEAR(bound(), floor, 1e-9 * floor);
    const auto op = id_at<OpId>(random.below(problem.op_count()));
    extra[op.index()].most = 1e-9;  // of its cut, and of what it fetches
    EXPECT_LE(bound(), (floor + 2e-9) * (1.0 + 1e-9));
    EXPECT_GE(bound(), floor * (1.0 - 1e-9));
    extra.assign(extra.size(), {.least = 0.0});
    extra[op.index()] = {.least = problem.front(op).floor.execute.value, .free = 1e-9};
    EXPECT_LE(bound(), all);
    EXPECT_GE(bound(), all - 1e-9 - (1e-9 * all));
    lower += bound() < all * (1.0 - 1e-6) ? 1 : 0;
  }
  EXPECT_GT(lower, 0);
}

TEST(NeighbourBound, CountsInTheLowerBound) {
  const tile::TileModel tiles = test::analytic();
  Random random{43};
  int higher = 0;
  for (int round = 0; round < 40; ++round) {
    const ir::Graph graph = test::few_ops(random);
    const chip::Chip chip = test::few_cores(random);
    const Problem problem = test::problem(graph, chip, tiles);
    const double neighbours = neighbour_bound(problem, NeighbourSum::Executes).time.value;
    const Bounds found = bounds(problem, {1.0});
    EXPECT_GE(found.lower_bound.value, neighbours * (1.0 - 1e-6));
    EXPECT_NEAR(found.execute.value, neighbours, 1e-6 * neighbours);
    higher += found.execute.value > floors(problem) * (1.0 + 1e-6) ? 1 : 0;
  }
  EXPECT_GT(higher, 5);
}

}  // namespace
}  // namespace elk::schedule
