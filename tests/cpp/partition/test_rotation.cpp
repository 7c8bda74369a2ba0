#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/rounding.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/layout/layout.hpp"
#include "elk/partition/layout/piece.hpp"
#include "elk/partition/order.hpp"
#include "elk/partition/rotation.hpp"
#include "partition/ops.hpp"

namespace elk::partition {
namespace {

using test::OneOp;

using Numbers = std::vector<std::int64_t>;

chip::Chip grid(std::int64_t rows, std::int64_t cols, chip::Topology topology) {
  chip::Chip chip = test::small_chip(rows * cols);
  chip.interconnect.topology = topology;
  chip.core.rows = rows;
  chip.core.cols = cols;
  return chip;
}

ExecutePlan planned(const OneOp& one, Numbers factors, std::vector<Numbers> temporal,
                    const chip::Chip& chip) {
  temporal.resize(one.op().operands.size());
  ExecutePlan plan =
      *complete_plan(one.graph, one.op(), std::move(factors), std::move(temporal), chip);
  validate(one.graph, one.op(), plan, chip);
  return plan;
}

/// The digits of every core of a plan, and its id.
struct Placed {
  Numbers digits;
  std::int64_t id;
};

std::vector<Placed> placed(const ExecutePlan& plan, const chip::Chip& chip) {
  const Numbers stride = strides(plan.factors, plan.order, plan.mesh_dims, chip);
  std::vector<Placed> all{{.digits = Numbers(plan.factors.size(), 0), .id = 0}};
  for (std::size_t axis = 0; axis < plan.factors.size(); ++axis) {
    std::vector<Placed> more;
    for (const Placed& one : all) {
      for (std::int64_t digit = 0; digit < plan.factors[axis]; ++digit) {
        more.push_back(one);
        more.back().digits[axis] = digit;
        more.back().id += digit * stride[axis];
      }
    }
    all = std::move(more);
  }
  return all;
}

/// The way from core to core, hop by hop: along the row first, and around a torus where shorter.
class Walk {
 public:
  explicit Walk(const chip::Chip& chip)
      : rows_(chip.core.rows),
        cols_(chip.core.cols),
        wraps_(chip.interconnect.topology == chip::Topology::Torus2d) {}

  std::int64_t send(std::int64_t from, std::int64_t to) {
    std::int64_t row = from / cols_;
    std::int64_t col = from % cols_;
    std::int64_t hops = 0;
    while (col != to % cols_) {
      const std::int64_t next = (col + step(to % cols_ - col, cols_) + cols_) % cols_;
      load_[{(row * cols_) + col, (row * cols_) + next}] += 1;
      col = next;
      ++hops;
    }
    while (row != to / cols_) {
      const std::int64_t next = (row + step((to / cols_) - row, rows_) + rows_) % rows_;
      load_[{(row * cols_) + col, (next * cols_) + col}] += 1;
      row = next;
      ++hops;
    }
    return hops;
  }

  [[nodiscard]] std::int64_t busiest() const {
    std::int64_t most = 0;
    for (const auto& [link, load] : load_) {
      most = std::max(most, load);
    }
    return most;
  }

 private:
  [[nodiscard]] std::int64_t step(std::int64_t way, std::int64_t length) const {
    const bool back = wraps_ && 2 * std::abs(way) > length;
    return (way > 0) != back ? 1 : -1;
  }

  std::int64_t rows_;
  std::int64_t cols_;
  bool wraps_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> load_;
};

/// Hops of the longest step, and pieces on the busiest link, when all rings of an operand shift.
struct Walked {
  std::int64_t hops = 0;
  std::int64_t load = 0;
};

Walked walked(const OneOp& one, std::size_t operand, const ExecutePlan& plan,
              const chip::Chip& chip) {
  const Rotation turn = rotation(one.op(), operand, plan, chip);
  std::map<Numbers, std::map<std::int64_t, std::int64_t>> rings;  // core id by place
  for (const Placed& core : placed(plan, chip)) {
    Numbers key;  // What the operand contains, and which run of sharers.
    for (std::size_t axis = 0; axis < core.digits.size(); ++axis) {
      const bool own = contains(one.op().operands[operand], static_cast<std::int32_t>(axis));
      key.push_back(own ? core.digits[axis] : -1);
    }
    std::int64_t number = 0;
    for (std::size_t i = 0; i < turn.axes.size(); ++i) {
      const std::int64_t digit = core.digits[static_cast<std::size_t>(turn.axes[i])];
      const bool back = turn.snakes && i == 1 && number % 2 == 1;
      number = (number * turn.factors[i]) + (back ? turn.factors[i] - 1 - digit : digit);
    }
    key.push_back(number / turn.ring);
    rings[key][place(turn, core.digits)] = core.id;
  }
  Walk walk(chip);
  Walked result;
  for (const auto& [key, ring] : rings) {
    EXPECT_EQ(static_cast<std::int64_t>(ring.size()), turn.ring);
    for (const auto& [at, core] : ring) {
      const std::int64_t before = (at + turn.ring - 1) % turn.ring;
      result.hops = std::max(result.hops, walk.send(core, ring.at(before)));
    }
  }
  result.load = walk.busiest();
  return result;
}

TEST(Place, OfAFoldedRingGoesUpOverEvenMembersAndBackOverOddOnes) {
  const Rotation six{.axes = {0},
                     .factors = {6},
                     .ring = 6,
                     .snakes = false,
                     .circles = {{.dim = 0, .axis = 1, .parts = 6, .stride = 1, .folds = true}}};
  std::vector<std::int64_t> members(6);
  for (std::int64_t member = 0; member < 6; ++member) {
    members[static_cast<std::size_t>(place(six, member))] = member;
  }
  EXPECT_EQ(members, (Numbers{0, 2, 4, 5, 3, 1}));
}

TEST(InRings, ListsSharersByTheirPlaces) {
  Rotation line{.axes = {0},
                .factors = {6},
                .ring = 3,
                .snakes = false,
                .circles = {{.dim = 0, .axis = 1, .parts = 3, .stride = 1, .folds = false}}};
  EXPECT_EQ(in_rings(line), (Numbers{0, 1, 2, 3, 4, 5}));
  line.circles[0].folds = true;
  EXPECT_EQ(in_rings(line), (Numbers{0, 2, 1, 3, 5, 4}));
  // Two rows of three: along the snake 0 1 2 5 4 3, folded to 0 2 4 3 5 1.
  const Rotation snake{.axes = {0, 1},
                       .factors = {2, 3},
                       .ring = 6,
                       .snakes = true,
                       .circles = {{.dim = 0, .axis = 2, .parts = 6, .stride = 1, .folds = true}}};
  EXPECT_EQ(in_rings(snake), (Numbers{0, 2, 4, 3, 5, 1}));
}

// The snake of three dimensions: numbers that follow each other are neighbours, and no link carries
// more than one piece, whichever way messages turn.
TEST(Rings, ThroughABoxTakeTwoHopsAndOnePieceALink) {
  for (std::int64_t number = 0; number < 64; ++number) {
    const chip::Nodes sides{.count = 0,
                            .rows = 1 + (number / 16),
                            .cols = 1 + (number / 4 % 4),
                            .depth = 1 + (number % 4)};
    const chip::Network network = chip::kind_of(chip::Topology::Mesh3d).network(sides);
    const std::int64_t cores = network.nodes();
    const Rotation snake{
        .axes = {0, 1, 2},
        .factors = {sides.rows, sides.cols, sides.depth},
        .ring = cores,
        .snakes = true,
        .circles = {{.dim = 0, .axis = 3, .parts = cores, .stride = 1, .folds = cores > 2}}};
    const std::vector<std::int64_t> ring = in_rings(snake);
    std::vector<chip::Hop> all;
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const std::int64_t from = ring[(i + 1) % ring.size()];
      EXPECT_LE(network.hops(from, ring[i]), ring_hops(cores, true));
      network.way(from, ring[i], chip::DimOrder::RowFirst, all);
    }
    for (const chip::Hop& hop : all) {
      EXPECT_EQ(std::count(all.begin(), all.end(), hop), 1);
    }
  }
}

// Weights of 7 x 12 products, cut along m: all cores of a line share each piece.
TEST(Rings, OnALineOfAMeshTakeTwoHopsAndOnePieceALink) {
  const OneOp one = test::matmul(7, 12, 24);
  for (const std::int64_t m : {2, 3, 4, 5, 7}) {
    if (ceil_div(7, ceil_div(7, m)) != m) {
      continue;
    }
    const chip::Chip chip = grid(7, 6, chip::Topology::Mesh2d);
    const ExecutePlan plan = planned(one, {m, 6, 1}, {{}, {m, 1}}, chip);
    const Walked found = walked(one, 1, plan, chip);
    EXPECT_EQ(found.load, 1) << m;
    EXPECT_EQ(found.hops, ring_hops(m, rotation(one.op(), 1, plan, chip).circles[0].folds)) << m;
    EXPECT_EQ(found.hops, m == 2 ? 1 : 2);
  }
}

TEST(Rings, AroundATorusTakeOneHop) {
  const OneOp one = test::matmul(6, 12, 24);
  const chip::Chip chip = grid(6, 6, chip::Topology::Torus2d);
  const ExecutePlan around = planned(one, {6, 6, 1}, {{}, {6, 1}}, chip);
  EXPECT_FALSE(rotation(one.op(), 1, around, chip).circles[0].folds);
  EXPECT_EQ(walked(one, 1, around, chip).hops, 1);
  EXPECT_EQ(walked(one, 1, around, chip).load, 1);
}

// Half the way around, the last is no neighbour of the first.
TEST(Rings, ThatDoNotGoAroundATorusAreFolded) {
  const OneOp one = test::matmul(6, 12, 24);
  const chip::Chip chip = grid(6, 6, chip::Topology::Torus2d);
  const ExecutePlan half = planned(one, {6, 6, 1}, {{}, {3, 1}}, chip);
  EXPECT_TRUE(rotation(one.op(), 1, half, chip).circles[0].folds);
  EXPECT_EQ(walked(one, 1, half, chip).hops, 2);
  EXPECT_EQ(walked(one, 1, half, chip).load, 1);
  const chip::Chip wide = grid(8, 8, chip::Topology::Torus2d);
  const ExecutePlan part = planned(one, {6, 6, 1}, {{}, {6, 1}}, wide);
  EXPECT_TRUE(rotation(one.op(), 1, part, wide).circles[0].folds);
  EXPECT_EQ(walked(one, 1, part, wide).hops, 2);
}

// Weights of a convolution cut along both output dimensions: the sharers are a rectangle.
TEST(Rings, ThroughARectangleFollowASnake) {
  const OneOp one = test::conv(12, 72, 8, 3, 1);
  for (const auto topology : {chip::Topology::Mesh2d, chip::Topology::Torus2d}) {
    const chip::Chip chip = grid(7, 6, topology);
    for (const std::int64_t high : {2, 4, 6}) {
      for (const std::int64_t wide : {2, 3, 6}) {
        for (const std::int64_t ring : divisors(high * wide)) {
          const ExecutePlan plan =
              planned(one, {high, wide, 1, 1, 1, 1}, {{}, {1, ring, 1, 1}}, chip);
          ASSERT_TRUE(rotation(one.op(), 1, plan, chip).snakes);
          const Walked found = walked(one, 1, plan, chip);
          EXPECT_LE(found.hops, ring_hops(ring, true)) << high << " x " << wide << ": " << ring;
          EXPECT_EQ(found.load, ring > 1 ? 1 : 0) << high << " x " << wide << ": " << ring;
        }
      }
    }
  }
}

/// The indices along `axis` that a core holds of an operand at its start, by the layout.
std::set<std::int64_t> held(const OneOp& one, std::size_t operand, std::size_t dim,
                            const ExecutePlan& plan, const chip::Chip& chip, std::int64_t id) {
  const Layout start = start_layout(one.graph, one.op(), operand, plan, chip);
  const Pieces pieces(start);
  std::set<std::int64_t> result;
  const auto place = static_cast<std::size_t>(pieces.place(id));
  for (const IndexRange& run : pieces.dims[dim].sets[pieces.dims[dim].at(place)]) {
    for (std::int64_t i = run.begin; i < run.end; ++i) {
      result.insert(i);
    }
  }
  return result;
}

/// Checks that at the start every core holds all that its first sub-task needs of both operands of
/// a product that rotate along k, and that every ring holds each index.
void expect_aligned(const OneOp& one, const ExecutePlan& plan, const chip::Chip& chip) {
  const std::int64_t size = one.op().axes[2].size;
  const std::int64_t tile = ceil_div(size, plan.factors[2]);
  for (const Placed& core : placed(plan, chip)) {
    const std::int64_t first = first_index(one.op(), plan, chip, 2, core.digits);
    const std::set<std::int64_t> a = held(one, 0, 1, plan, chip, core.id);
    const std::set<std::int64_t> b = held(one, 1, 0, plan, chip, core.id);
    for (std::int64_t i = 0; i < plan.pace[2]; ++i) {
      const std::int64_t index = (core.digits[2] * tile) + ((first + i) % tile);
      EXPECT_TRUE(index >= size || a.contains(index)) << core.id << " lacks " << index << " of A";
      EXPECT_TRUE(index >= size || b.contains(index)) << core.id << " lacks " << index << " of B";
    }
  }
}

TEST(FirstIndex, IsHeldOfEveryOperandThatRotatesThere) {
  struct Case {
    Numbers size;
    Numbers factors;
    std::int64_t a;
    std::int64_t b;
  };
  const std::vector<Case> cases = {{{3, 3, 3}, {3, 3, 1}, 3, 3},  {{2, 3, 6}, {2, 3, 1}, 3, 2},
                                   {{4, 6, 12}, {4, 6, 1}, 3, 2}, {{4, 6, 24}, {4, 6, 2}, 6, 4},
                                   {{6, 4, 20}, {6, 4, 1}, 2, 6}, {{5, 6, 17}, {5, 6, 1}, 6, 5},
                                   {{4, 6, 12}, {4, 6, 1}, 6, 1}};
  for (const Case& at : cases) {
    const OneOp one = test::matmul(at.size[0], at.size[1], at.size[2]);
    for (const chip::Chip& chip : {test::small_chip(64), grid(8, 8, chip::Topology::Mesh2d)}) {
      if (chip::routed(chip) && at.factors[2] > 1) {
        continue;
      }
      expect_aligned(one, planned(one, at.factors, {{1, at.a}, {at.b, 1}}, chip), chip);
    }
  }
}

// y[r, c] = x[r, c] + a[c] + b[c]: the cores of a column share both a and b.
OneOp scaled(std::int64_t rows, std::int64_t cols) {
  OneOp one(
      ir::OpKind::Elementwise, "add",
      {test::parallel("r", rows, ir::TileDim::Rows), test::parallel("c", cols, ir::TileDim::Cols)});
  one.reads(ir::Home::Activation, {rows, cols}, {test::along(0), test::along(1)})
      .reads(ir::Home::Weight, {cols}, {test::along(1)})
      .reads(ir::Home::Weight, {cols}, {test::along(1)})
      .writes({rows, cols}, {test::along(0), test::along(1)});
  return one;
}

TEST(FirstIndex, OfOperandsWithTheSameSharersIsThatOfOne) {
  const OneOp one = scaled(4, 24);
  const chip::Chip chip = test::small_chip(4);
  const ExecutePlan plan = planned(one, {4, 1}, {{}, {4}, {4}}, chip);
  for (std::int64_t r = 0; r < 4; ++r) {
    const Numbers digits{r, 0};
    EXPECT_EQ(first_index(one.op(), plan, chip, 1, digits), 6 * r);
    EXPECT_EQ(held(one, 1, 0, plan, chip, r).size(), 6U);
    EXPECT_EQ(held(one, 1, 0, plan, chip, r), held(one, 2, 0, plan, chip, r));
  }
}

// A tile that many small parts pass: windows of all operands move by one pace a step.
TEST(FirstIndex, StaysHeldWhileAllMoveByOnePace) {
  const OneOp one = test::matmul(2, 3, 6);
  const chip::Chip chip = test::small_chip(6);
  const ExecutePlan plan = planned(one, {2, 3, 1}, {{1, 3}, {2, 1}}, chip);
  ASSERT_EQ(plan.pace[2], 2);
  for (const Placed& core : placed(plan, chip)) {
    std::set<std::int64_t> done;
    for (std::int64_t step = 0; step < 3; ++step) {
      for (std::int64_t i = 0; i < 2; ++i) {
        done.insert((first_index(one.op(), plan, chip, 2, core.digits) + (2 * step) + i) % 6);
      }
    }
    EXPECT_EQ(done.size(), 6U);  // Every index of k, once.
  }
}

}  // namespace
}  // namespace elk::partition
