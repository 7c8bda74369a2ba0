#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/layout/layout.hpp"
#include "partition/ops.hpp"

namespace elk::partition {
namespace {

using test::small_chip;

using Numbers = Table<AxisId, std::int64_t>;
using Elements = std::set<Numbers>;

struct Held {
  const test::OneOp& one;
  OperandId operand;
  ExecutePlan plan;
};

/// What a core holds of a tensor of two dimensions, element by element.
Elements elements(const Held& held, const chip::Chip& chip, std::int64_t core) {
  const ir::Op& op = held.one.op();
  Elements result;
  if (core >= tiling(op, held.plan).cores) {
    return result;
  }
  const Layout at = layout(held.one.graph, op, held.operand, held.plan, chip);
  Numbers digit(op.axes.size(), 0);
  std::int64_t rest = core;
  for (std::size_t i = held.plan.order.size(); i-- > 0;) {
    const auto axis = held.plan.order[i];
    digit[axis] = rest % held.plan.factors[axis];
    rest /= held.plan.factors[axis];
  }
  std::int64_t part = 0;
  for (const AxisId axis : at.split_axes) {
    part = (part * at.factors[axis]) + digit[axis];
  }
  std::vector<std::set<std::int64_t>> indices(at.dims.size());
  for (std::size_t dim = 0; dim < at.dims.size(); ++dim) {
    std::set<std::int64_t> sums{at.dims[id_at<DimId>(dim)].offset};
    for (std::size_t i = 0; i < at.dims[id_at<DimId>(dim)].axes.size(); ++i) {
      const auto axis = at.dims[id_at<DimId>(dim)].axes[i];
      const std::int64_t tile = ceil_div(at.size[axis], at.factors[axis]);
      std::set<std::int64_t> more;
      for (const std::int64_t sum : sums) {
        for (std::int64_t v = digit[axis] * tile;
             v < std::min(at.size[axis], (digit[axis] + 1) * tile); ++v) {
          more.insert(sum + (at.dims[id_at<DimId>(dim)].coef[i] * v));
        }
      }
      sums = more;
    }
    for (const std::int64_t index : sums) {
      if (index >= 0 && index < at.shape[id_at<DimId>(dim)]) {
        indices[dim].insert(index);
      }
    }
    if (at.split > 1 && at.split_dim == id_at<DimId>(dim)) {
      const Numbers all(indices[dim].begin(), indices[dim].end());
      const std::int64_t chunk = ceil_div(
          ceil_div(at.shape[id_at<DimId>(dim)], at.factors[at.dims[id_at<DimId>(dim)].axes[0]]),
          at.split);
      indices[dim].clear();
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (static_cast<std::int64_t>(i) / chunk == part) {
          indices[dim].insert(all[id_at<AxisId>(i)]);
        }
      }
    }
  }
  for (const std::int64_t row : indices[0]) {
    for (const std::int64_t col : indices[1]) {
      result.insert({row, col});
    }
  }
  return result;
}

struct Moved {
  std::int64_t most = 0;
  std::int64_t total = 0;
  std::int64_t into_chip = 0;  // what no core of the chip has, once, into the busiest
};

/// What the cores of a chip hold together.
Elements elements_of_chip(const Held& held, const chip::Chip& chip, std::int64_t number) {
  Elements result;
  for (std::int64_t core = 0; core < chip.core.count; ++core) {
    result.merge(elements(held, chip, (number * chip.core.count) + core));
  }
  return result;
}

Moved moved(const Held& from, const Held& to, const chip::Chip& chip) {
  Moved result;
  for (std::int64_t core = 0; core < tiling(to.one.op(), to.plan).cores; ++core) {
    const Elements have = elements(from, chip, core);
    std::int64_t missing = 0;
    for (const Numbers& element : elements(to, chip, core)) {
      missing += have.contains(element) ? 0 : 1;
    }
    result.most = std::max(result.most, missing);
    result.total += missing;
  }
  for (std::int64_t c = 0; c < chip.chips; ++c) {
    const Elements have = elements_of_chip(from, chip, c);
    std::int64_t missing = 0;
    for (const Numbers& element : elements_of_chip(to, chip, c)) {
      missing += have.contains(element) ? 0 : 1;
    }
    result.into_chip = std::max(result.into_chip, missing);
  }
  return result;
}

/// Every pair of cuts of a producer and a reader of the same tensor.
void expect_conservation(const test::OneOp& producer, OperandId result, const test::OneOp& reader,
                         OperandId operand, const chip::Chip& chip) {
  const auto plans = [&](const test::OneOp& one) {
    std::vector<ExecutePlan> all;
    const std::int64_t cores = chip::total_cores(chip);
    const Numbers last = one.op().axes.size() > 2
                             ? distinct_factors(one.op().axes[AxisId{2}].size, cores)
                             : Numbers{1};
    for (const std::int64_t a : distinct_factors(one.op().axes[AxisId{0}].size, cores)) {
      for (const std::int64_t b : distinct_factors(one.op().axes[AxisId{1}].size, cores / a)) {
        for (const std::int64_t c : last) {
          if (a * b * c <= cores) {
            Numbers factors{a, b};
            if (one.op().axes.size() > 2) {
              factors.push_back(c);
            }
            all.push_back(*complete_plan(
                one.graph, one.op(), factors,
                Table<OperandId, Table<DimId, std::int64_t>>(one.op().operands.size()), chip));
          }
        }
      }
    }
    return all;
  };
  for (const ExecutePlan& from : plans(producer)) {
    const Held held{.one = producer, .operand = result, .plan = from};
    const Layout have = layout(producer.graph, producer.op(), result, from, chip);
    for (const ExecutePlan& to : plans(reader)) {
      const Held wanted{.one = reader, .operand = operand, .plan = to};
      const Layout need = layout(reader.graph, reader.op(), operand, to, chip);
      const Transition crossing = test::transition(have, need, 16, chip);
      const Moved expected = moved(held, wanted, chip);
      ASSERT_EQ(crossing.received, Bytes{2 * expected.most});
      ASSERT_EQ(crossing.total, Bytes{2 * expected.total});
      if (chip.chips > 1 && expected.most > 0) {
        ASSERT_EQ(crossing.chip_in, Bytes{2 * expected.into_chip});
      }
      ASSERT_TRUE(!same(have, need) || expected.most == 0);
      ASSERT_LE(crossing.unique, crossing.total);
    }
  }
}

TEST(Transition, BringsWhatIsNeededLessWhatIsThere) {
  expect_conservation(test::matmul(4, 6, 4), OperandId{2}, test::softmax(4, 6), OperandId{0},
                      small_chip(8));
}

TEST(Transition, BringsTheRestOfAReducedResult) {
  expect_conservation(test::matmul(5, 3, 4), OperandId{2}, test::bias_add(5, 3), OperandId{0},
                      small_chip(6));
}

TEST(Transition, SeesPackedAxesAsStridedPieces) {
  test::OneOp merged(
      ir::OpKind::Elementwise, "add",
      {test::parallel("r", 3, ir::TileDim::Elements), test::parallel("h", 2, ir::TileDim::Elements),
       test::parallel("k", 4, ir::TileDim::Elements)});
  merged
      .reads(ir::Home::Activation, {3, 8},
             {test::along(AxisId{0}), test::mapped({AxisId{1}, AxisId{2}}, {4, 1})})
      .writes({3, 8}, {test::along(AxisId{0}), test::mapped({AxisId{1}, AxisId{2}}, {4, 1})});
  expect_conservation(merged, OperandId{1}, test::softmax(3, 8), OperandId{0}, small_chip(8));
  expect_conservation(test::softmax(3, 8), OperandId{1}, merged, OperandId{0}, small_chip(8));
}

TEST(Transition, BringsToEachChipJustWhatNoneOfItsCoresHas) {
  // Chips end in the middle of rows, and of the parts that a result is reduced to.
  expect_conservation(test::matmul(5, 6, 4), OperandId{2}, test::softmax(5, 6), OperandId{0},
                      test::two_chips(5));
  expect_conservation(test::softmax(4, 7), OperandId{1}, test::bias_add(4, 7), OperandId{0},
                      test::two_chips(7));
}

TEST(Transition, CountsARunForEveryIndexOfAStridedPiece) {
  // The second core reads 8, 10, 12 and 14 of what the first one holds.
  test::OneOp whole(ir::OpKind::Elementwise, "exp",
                    {test::parallel("i", 16, ir::TileDim::Elements)});
  whole.reads(ir::Home::Activation, {16}, {test::along(AxisId{0})})
      .writes({16}, {test::along(AxisId{0})});
  test::OneOp strided(ir::OpKind::Elementwise, "exp",
                      {test::parallel("i", 8, ir::TileDim::Elements)});
  strided.reads(ir::Home::Activation, {16}, {test::mapped({AxisId{0}}, {2})})
      .writes({8}, {test::along(AxisId{0})});
  const chip::Chip chip = small_chip(2);
  const auto one = complete_plan(whole.graph, whole.op(), {1}, {{}, {}}, chip);
  const auto two = complete_plan(strided.graph, strided.op(), {2}, {{}, {}}, chip);
  const Layout have = layout(whole.graph, whole.op(), OperandId{1}, *one, chip);
  EXPECT_EQ(test::transition(have, layout(strided.graph, strided.op(), OperandId{0}, *two, chip),
                             16, chip)
                .fragments,
            4);
}

TEST(Transition, CountsAPieceOnceForEachChipThatLacksIt) {
  const test::OneOp product = test::matmul(8, 4, 2);
  const test::OneOp reader = test::softmax(8, 4);
  const chip::Chip chip = test::two_chips(4);
  const auto rows = complete_plan(product.graph, product.op(), {8, 1, 1}, {{}, {}, {}}, chip);
  const auto cols = complete_plan(reader.graph, reader.op(), {1, 4}, {{}, {}}, chip);
  const Layout have = layout(product.graph, product.op(), OperandId{2}, *rows, chip);
  const Layout need = layout(reader.graph, reader.op(), OperandId{0}, *cols, chip);
  const Transition crossing = test::transition(have, need, 16, chip);
  EXPECT_EQ(crossing.chip_in, Bytes{4 * 4 * 2});  // The rows of the second chip.
}

}  // namespace
}  // namespace elk::partition
