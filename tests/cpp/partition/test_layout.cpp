#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/layout/layout.hpp"
#include "partition/ops.hpp"

namespace elk::partition {
namespace {

using test::small_chip;

using Numbers = Table<AxisId, std::int64_t>;

Layout of(const test::OneOp& one, OperandId operand, Numbers factors) {
  const chip::Chip chip = small_chip(64);
  const auto plan =
      complete_plan(one.graph, one.op(), std::move(factors),
                    Table<OperandId, Table<DimId, std::int64_t>>(one.op().operands.size()), chip);
  return layout(one.graph, one.op(), operand, *plan, chip);
}

TEST(Layout, CutsAReducedResultAmongThoseThatAddedItUp) {
  const Layout rest = of(test::matmul(8, 8, 8), OperandId{2}, {2, 2, 4});
  EXPECT_EQ(rest.split, 4);
  EXPECT_EQ(rest.split_dim, DimId{0});
  EXPECT_EQ(rest.split_axes, (std::vector<AxisId>{AxisId{2}}));
}

TEST(Same, HoldsForEqualCutsUnderOtherNames) {
  const test::OneOp product = test::matmul(8, 6, 4);
  const test::OneOp next = test::softmax(8, 6);
  EXPECT_TRUE(same(of(product, OperandId{2}, {4, 1, 1}), of(next, OperandId{0}, {4, 1})));
  EXPECT_TRUE(same(of(product, OperandId{2}, {1, 3, 1}), of(next, OperandId{0}, {1, 3})));
  EXPECT_FALSE(same(of(product, OperandId{2}, {4, 1, 1}), of(next, OperandId{0}, {2, 1})));
  EXPECT_FALSE(same(of(product, OperandId{2}, {4, 1, 2}), of(next, OperandId{0}, {4, 1})));
}

TEST(Same, FailsWhereAReaderUsesMoreCores) {
  const test::OneOp product = test::matmul(8, 6, 4);
  EXPECT_FALSE(
      same(of(product, OperandId{2}, {1, 1, 1}), of(test::bias_add(8, 6), OperandId{0}, {2, 1})));
}

TEST(Same, FailsWhereAReaderOfOneNumberHasMoreCores) {
  test::OneOp one = test::bias_add(8, 6);
  Layout have = of(one, OperandId{1}, {1, 1});
  Layout need = of(one, OperandId{1}, {2, 1});
  for (Layout* layout : {&have, &need}) {
    layout->shape.clear();
    layout->dims.clear();
  }
  EXPECT_TRUE(same(have, have));
  EXPECT_FALSE(same(have, need));
}

}  // namespace
}  // namespace elk::partition
