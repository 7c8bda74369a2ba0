#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/cost/option.hpp"
#include "elk/cost/price/price.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/layout/layout.hpp"
#include "elk/partition/layout/piece.hpp"
#include "elk/partition/order.hpp"
#include "elk/partition/rotation.hpp"
#include "partition/ops.hpp"

// The worked examples of T10 (Liu et al., SOSP 2024): Figures 3, 6, 7 and 10. Elements are of eight
// bytes, so that a buffer is 8 x its elements, without padding.

namespace elk::cost {
namespace {

using test::OneOp;
using test::small_chip;

using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t kElement = 8;  // bytes

/// C[m, n] += A[m, k] B[k, n], both read where they lie on chip.
OneOp product_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  OneOp one(ir::OpKind::MatMul, "matmul",
            {test::parallel("m", m, ir::TileDim::M), test::parallel("n", n, ir::TileDim::N),
             test::reduction("k", k, ir::TileDim::K)},
            ir::DType::F64);
  one.reads(ir::Home::Activation, {m, k}, {test::along(0), test::along(2)})
      .reads(ir::Home::Activation, {k, n}, {test::along(2), test::along(1)})
      .writes({m, n}, {test::along(0), test::along(1)});
  return one;
}

partition::ExecutePlan planned(const OneOp& one, Numbers factors, std::vector<Numbers> temporal,
                               const chip::Chip& chip) {
  temporal.resize(one.op().operands.size());
  return *partition::complete_plan(one.graph, one.op(), std::move(factors), std::move(temporal),
                                   chip);
}

PlanOption priced(const OneOp& one, const partition::ExecutePlan& plan, const chip::Chip& chip) {
  const tile::TileModel tiles(
      {}, {.call_cycles = 100.0, .sram_bytes_per_cycle = 16.0, .vector_elements_per_cycle = 2.0});
  return price(one.graph, one.op(), plan, chip, tiles);
}

chip::Chip example_grid(std::int64_t rows, std::int64_t cols, chip::Topology topology) {
  chip::Chip chip = small_chip(rows * cols);
  chip.interconnect.topology = topology;
  chip.core.rows = rows;
  chip.core.cols = cols;
  return chip;
}

using Element = std::pair<std::int64_t, std::int64_t>;
using Held = std::map<Element, std::int64_t>;

std::int64_t value_a(const Element& at) { return (3 * at.first) + (7 * at.second) + 1; }
std::int64_t value_b(const Element& at) { return (5 * at.first) - (2 * at.second) + 4; }

/// A product run core by core with the data that its plan puts there, as the figures draw it: each
/// core computes a sub-task from what it holds, then takes the indices of k that come next from the
/// core at the next place of its ring, and drops those that are over.
class Machine {
 public:
  Machine(const OneOp& one, const partition::ExecutePlan& plan, const chip::Chip& chip)
      : op_(one.op()), plan_(plan), tiles_(partition::tiling(one.op(), plan)) {
    const Numbers stride = partition::strides(plan.factors, plan.order, plan.mesh_dims, chip);
    for (std::int64_t m = 0; m < plan.factors[0]; ++m) {
      for (std::int64_t n = 0; n < plan.factors[1]; ++n) {
        Core core{.digits = {m, n, 0}, .begin = 0, .place = {}, .ring = {}, .held = {}};
        core.begin = partition::first_index(op_, plan, chip, 2, core.digits);
        for (std::size_t operand = 0; operand < 2; ++operand) {
          const partition::Rotation turn = partition::rotation(op_, operand, plan, chip);
          core.place[operand] = partition::place(turn, core.digits);
          // The sharers of A are the cores of a row, those of B the cores of a column.
          const std::int64_t number = operand == 0 ? n : m;
          core.ring[operand] = {operand == 0 ? m : n, number / turn.ring};
          core.held[operand] =
              start(one, operand, chip, (m * stride[0]) + (n * stride[1]), value(operand));
        }
        cores_.push_back(std::move(core));
      }
    }
  }

  /// Runs all steps.
  void run() {
    for (std::int64_t step = 0; step < tiles_.steps; ++step) {
      for (Core& core : cores_) {
        compute(core, step);
      }
      if (step + 1 < tiles_.steps) {
        shift(step);
      }
    }
  }

  [[nodiscard]] const Held& result() const { return result_; }
  /// Bytes that the busiest core received in all shifts.
  [[nodiscard]] std::int64_t moved() const { return moved_; }
  [[nodiscard]] std::int64_t begin(std::int64_t m, std::int64_t n) const {
    return cores_[static_cast<std::size_t>((m * plan_.factors[1]) + n)].begin;
  }
  [[nodiscard]] Held held(std::int64_t m, std::int64_t n, std::size_t operand) const {
    return cores_[static_cast<std::size_t>((m * plan_.factors[1]) + n)].held[operand];
  }

 private:
  using Value = std::int64_t (*)(const Element&);

  struct Core {
    Numbers digits;
    std::int64_t begin;
    std::array<std::int64_t, 2> place;
    std::array<Element, 2> ring;
    std::array<Held, 2> held;
  };

  static Value value(std::size_t operand) { return operand == 0 ? &value_a : &value_b; }

  /// What the layout at the start of the execute puts on a core.
  [[nodiscard]] Held start(const OneOp& one, std::size_t operand, const chip::Chip& chip,
                           std::int64_t id, Value of) const {
    const partition::Layout layout = partition::start_layout(one.graph, op_, operand, plan_, chip);
    const partition::Pieces pieces(layout);
    const auto at = static_cast<std::size_t>(pieces.place(id));
    Held held;
    for (const partition::IndexRange& rows : pieces.dims[0].sets[pieces.dims[0].at(at)]) {
      for (const partition::IndexRange& cols : pieces.dims[1].sets[pieces.dims[1].at(at)]) {
        for (std::int64_t i = rows.begin; i < rows.end; ++i) {
          for (std::int64_t j = cols.begin; j < cols.end; ++j) {
            held[{i, j}] = of({i, j});
          }
        }
      }
    }
    return held;
  }

  void compute(const Core& core, std::int64_t step) {
    const std::int64_t size = op_.axes[2].size;
    for (std::int64_t i = 0; i < tiles_.tile[0]; ++i) {
      for (std::int64_t j = 0; j < tiles_.tile[1]; ++j) {
        for (std::int64_t s = 0; s < tiles_.sub_task[2]; ++s) {
          const std::int64_t m = (core.digits[0] * tiles_.tile[0]) + i;
          const std::int64_t n = (core.digits[1] * tiles_.tile[1]) + j;
          const std::int64_t k = (core.begin + (step * tiles_.sub_task[2]) + s) % size;
          const auto a = core.held[0].find({m, k});
          const auto b = core.held[1].find({k, n});
          ASSERT_NE(a, core.held[0].end()) << "no A[" << m << ", " << k << "] at step " << step;
          ASSERT_NE(b, core.held[1].end()) << "no B[" << k << ", " << n << "] at step " << step;
          result_[{m, n}] += a->second * b->second;
        }
      }
    }
  }

  /// Every rotating operand moves on by one pace along k, in all rings at once.
  void shift(std::int64_t step) {
    const std::vector<Core> before = cores_;
    std::int64_t most = 0;
    for (Core& core : cores_) {
      std::int64_t bytes = 0;
      for (std::size_t operand = 0; operand < 2; ++operand) {
        const std::int64_t parts = operand == 0 ? parts_of(0, 1) : parts_of(1, 0);
        if (parts > 1) {
          bytes += pass(core, before, operand, parts, step);
        }
      }
      most = std::max(most, bytes);
    }
    moved_ += most;
  }

  [[nodiscard]] std::int64_t parts_of(std::size_t operand, std::size_t dim) const {
    return plan_.temporal[operand].empty() ? 1 : plan_.temporal[operand][dim];
  }

  std::int64_t pass(Core& core, const std::vector<Core>& before, std::size_t operand,
                    std::int64_t parts, std::int64_t step) {
    const std::int64_t size = op_.axes[2].size;
    const std::int64_t pace = tiles_.sub_task[2];
    const std::int64_t next = (core.place[operand] + 1) % parts;
    const Core* from = nullptr;
    for (const Core& other : before) {
      if (other.ring[operand] == core.ring[operand] && other.place[operand] == next) {
        from = &other;
      }
    }
    std::int64_t bytes = 0;
    Held kept;
    for (std::int64_t s = 0; s < size / parts; ++s) {
      const std::int64_t k = (core.begin + ((step + 1) * pace) + s) % size;
      const Held& own = core.held[operand];
      for (const Held* held : {&own, &from->held[operand]}) {
        for (const auto& [at, value] : *held) {
          const bool wanted = (operand == 0 ? at.second : at.first) == k;
          if (wanted && kept.emplace(at, value).second && held != &own) {
            bytes += kElement;
          }
        }
      }
    }
    core.held[operand] = std::move(kept);
    return bytes;
  }

  const ir::Op& op_;
  const partition::ExecutePlan& plan_;
  partition::Tiling tiles_;
  std::vector<Core> cores_;
  Held result_;
  std::int64_t moved_ = 0;
};

Held multiplied(std::int64_t m, std::int64_t n, std::int64_t k) {
  Held result;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t s = 0; s < k; ++s) {
        result[{i, j}] += value_a({i, s}) * value_b({s, j});
      }
    }
  }
  return result;
}

// Figure 3: a product of [4, 2] and [2, 2] on two cores, cut along m.
TEST(Figure3, TradesSpaceForAShift) {
  const OneOp one = product_of(4, 2, 2);
  const chip::Chip chip = small_chip(2);
  // (b) Each core holds A 2 x 2, all of B 2 x 2 and C 2 x 2, and needs no step but one.
  const PlanOption b = priced(one, planned(one, {2, 1, 1}, {}, chip), chip);
  EXPECT_EQ(b.steps, 1);
  EXPECT_EQ(b.footprint.space, Bytes{kElement * (4 + 4 + 4)});
  EXPECT_EQ(b.shift.bytes, Bytes{0});
  // (c) B is cut in two along n: each core holds 2 x 1 of it, computes 2 x 1 of C, passes the 2 x 1
  // on, and computes the other 2 x 1 of C.
  const partition::ExecutePlan plan = planned(one, {2, 1, 1}, {{}, {1, 2}}, chip);
  const PlanOption c = priced(one, plan, chip);
  EXPECT_EQ(c.steps, 2);
  EXPECT_EQ(partition::tiling(one.op(), plan).sub_task, (Numbers{2, 1, 2}));
  EXPECT_EQ(c.footprint.space, Bytes{kElement * (4 + 2 + 4)});
  EXPECT_EQ(c.shift.bytes, Bytes{kElement * 2});
  EXPECT_LT(c.footprint.space, b.footprint.space);
  EXPECT_GT(c.shift.time, b.shift.time);
}

// Figure 6: a tensor of [6, 8] on 8 cores, f_s = [2, 1]: two sub-tensors of [3, 8], which four
// cores share each. As A of a product whose n is cut by four.
class Figure6 : public ::testing::Test {
 protected:
  partition::ExecutePlan plan(std::int64_t parts) {
    return planned(one_, {2, 4, 1}, {{1, parts}}, chip_);
  }

  OneOp one_ = product_of(6, 4, 8);
  chip::Chip chip_ = small_chip(8);
};

TEST_F(Figure6, SharesASubTensorAmongFourCores) {
  EXPECT_EQ(partition::sharers(one_.op(), 0, {2, 4, 1}), 4);
  EXPECT_EQ(partition::tiling(one_.op(), plan(1)).tile, (Numbers{3, 1, 8}));
}

// (b) f_t = [1, 2]: partitions of [3, 4] on 4 / 2 = 2 rings of two cores.
TEST_F(Figure6, MakesTwoRingsOfTwo) {
  const PlanOption option = priced(one_, plan(2), chip_);
  EXPECT_EQ(option.footprint.operand[0], Bytes{kElement * 3 * 4});
  EXPECT_EQ(partition::sharing(one_.graph, one_.op(), 0, plan(2), chip_).copies, 2);
  EXPECT_EQ(option.steps, 2);
  EXPECT_EQ(option.shift.bytes, Bytes{kElement * 1 * (3 * 4)});
}

// (c) f_t = [1, 4], rp = [0, 2]: partitions of [3, 2] on one ring of four, 8 / 2 = 4 steps.
TEST_F(Figure6, MakesOneRingOfFourAndFourSteps) {
  const PlanOption option = priced(one_, plan(4), chip_);
  EXPECT_EQ(option.footprint.operand[0], Bytes{kElement * 3 * 2});
  EXPECT_EQ(partition::sharing(one_.graph, one_.op(), 0, plan(4), chip_).copies, 1);
  EXPECT_EQ(option.plan.pace, (Numbers{0, 0, 2}));
  EXPECT_EQ(option.steps, 4);
  EXPECT_EQ(option.shift.bytes, Bytes{kElement * 3 * (3 * 2)});  // Three shifts of [3, 2].
  Machine machine(one_, option.plan, chip_);
  machine.run();
  EXPECT_EQ(machine.result(), multiplied(6, 4, 8));
  EXPECT_EQ(Bytes{machine.moved()}, option.shift.bytes);
}

// (d) The same with rp = [0, 1]: tiles of [3, 1] and 8 / 1 = 8 steps.
TEST_F(Figure6, TakesEightStepsAtHalfThePace) {
  partition::ExecutePlan slow = plan(4);
  slow.pace = {0, 0, 1};
  const PlanOption option = priced(one_, slow, chip_);
  EXPECT_EQ(option.footprint.operand[0], Bytes{kElement * 3 * 2});
  EXPECT_EQ(option.steps, 8);
  EXPECT_EQ(option.shift.bytes, Bytes{kElement * 7 * (3 * 1)});  // Seven shifts of [3, 1].
  Machine machine(one_, slow, chip_);
  machine.run();
  EXPECT_EQ(machine.result(), multiplied(6, 4, 8));
  EXPECT_EQ(Bytes{machine.moved()}, option.shift.bytes);
}

// Figure 7: a product of [2, 6] and [6, 3] on 2 x 3 cores, f_t of A [1, 3] and of B [2, 1]: parts
// of 6 / 3 = 2 and 6 / 2 = 3 along k, so that both move by rp = 2, in 6 / 2 = 3 steps of [1, 2, 1].
TEST(Figure7, AlignsThePacesOfAandB) {
  const OneOp one = product_of(2, 3, 6);
  const chip::Chip chip = small_chip(6);
  const partition::ExecutePlan plan = planned(one, {2, 3, 1}, {{1, 3}, {2, 1}}, chip);
  const PlanOption option = priced(one, plan, chip);
  EXPECT_EQ(partition::sharers(one.op(), 0, plan.factors), 3);
  EXPECT_EQ(partition::sharers(one.op(), 1, plan.factors), 2);
  EXPECT_EQ(plan.pace, (Numbers{0, 0, 2}));
  EXPECT_EQ(option.steps, 3);
  EXPECT_EQ(partition::tiling(one.op(), plan).sub_task, (Numbers{1, 1, 2}));
  EXPECT_EQ(option.footprint.space, Bytes{kElement * (2 + 3 + 1)});
  EXPECT_EQ(option.shift.bytes, Bytes{kElement * 2 * (2 + 2)});  // Two shifts of 2 of A and of B.
  Machine machine(one, plan, chip);
  machine.run();
  EXPECT_EQ(machine.result(), multiplied(2, 3, 6));
  EXPECT_EQ(Bytes{machine.moved()}, option.shift.bytes);
}

// (c) A pace of 3 suits B and not A, whose parts are of 2.
TEST(Figure7, RefusesAPaceLongerThanTheShortestPart) {
  const OneOp one = product_of(2, 3, 6);
  const chip::Chip chip = small_chip(6);
  partition::ExecutePlan plan = planned(one, {2, 3, 1}, {{1, 3}, {2, 1}}, chip);
  plan.pace = {0, 0, 3};
  EXPECT_THROW(priced(one, plan, chip), InvalidInput);
}

// Figure 10: a product of [3, 3] and [3, 3] on 3 x 3 cores, both operands in rings of three. The
// first row of cores begins with A[0, 0], A[0, 1], A[0, 2]; the core of C[i, j] with k = i + j.
TEST(Figure10, PlacesPartsWhereTheyMeet) {
  const OneOp one = product_of(3, 3, 3);
  const chip::Chip chip = small_chip(9);
  const partition::ExecutePlan plan = planned(one, {3, 3, 1}, {{1, 3}, {3, 1}}, chip);
  const PlanOption option = priced(one, plan, chip);
  EXPECT_EQ(option.steps, 3);
  EXPECT_EQ(option.footprint.space, Bytes{kElement * (1 + 1 + 1)});
  EXPECT_EQ(option.shift.bytes, Bytes{kElement * 2 * (1 + 1)});
  Machine machine(one, plan, chip);
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) {
      const std::int64_t k = (i + j) % 3;
      EXPECT_EQ(machine.begin(i, j), k);
      EXPECT_EQ(machine.held(i, j, 0), (Held{{{i, k}, value_a({i, k})}}));
      EXPECT_EQ(machine.held(i, j, 1), (Held{{{k, j}, value_b({k, j})}}));
    }
  }
  machine.run();
  EXPECT_EQ(machine.result(), multiplied(3, 3, 3));
  EXPECT_EQ(Bytes{machine.moved()}, option.shift.bytes);
}

// On grids rings are folded, or go around.
TEST(Figure10, MultipliesOnGridsToo) {
  const OneOp one = product_of(6, 6, 12);
  for (const auto topology : {chip::Topology::Mesh2d, chip::Topology::Torus2d}) {
    for (const std::int64_t side : {6, 7}) {
      const chip::Chip chip = example_grid(side, side, topology);
      for (const auto& [a, b] : std::vector<Element>{{6, 6}, {3, 6}, {6, 2}, {3, 2}}) {
        const partition::ExecutePlan plan = planned(one, {6, 6, 1}, {{1, a}, {b, 1}}, chip);
        Machine machine(one, plan, chip);
        machine.run();
        EXPECT_EQ(machine.result(), multiplied(6, 6, 12)) << side << ": " << a << ", " << b;
        EXPECT_EQ(Bytes{machine.moved()}, priced(one, plan, chip).shift.bytes);
      }
    }
  }
}

}  // namespace
}  // namespace elk::cost
