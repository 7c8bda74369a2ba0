#include <algorithm>
#include <cstdint>
#include <numeric>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/extent.hpp"
#include "partition/ops.hpp"

namespace elk::partition {
namespace {

using test::along;
using test::mapped;

using Numbers = Table<AxisId, std::int64_t>;

/// The largest box over all tiles of two axes, clipped: the rule that plan files are checked by.
std::int64_t boxed(const ir::Dim& dim, std::int64_t shape, const Numbers& size,
                   const Numbers& tile) {
  const std::int64_t step = std::gcd(dim.coef[0], dim.coef[1]);
  std::int64_t best = 1;
  for (std::int64_t i = 0; i * tile[AxisId{0}] < size[AxisId{0}]; ++i) {
    for (std::int64_t j = 0; j * tile[AxisId{1}] < size[AxisId{1}]; ++j) {
      const std::int64_t a =
          std::min(size[AxisId{0}], (i + 1) * tile[AxisId{0}]) - (i * tile[AxisId{0}]);
      const std::int64_t b =
          std::min(size[AxisId{1}], (j + 1) * tile[AxisId{1}]) - (j * tile[AxisId{1}]);
      const std::int64_t low =
          dim.offset + (dim.coef[0] * i * tile[AxisId{0}]) + (dim.coef[1] * j * tile[AxisId{1}]);
      const std::int64_t high = low + (dim.coef[0] * (a - 1)) + (dim.coef[1] * (b - 1));
      const std::int64_t inside = std::min(high, shape - 1) - std::max<std::int64_t>(low, 0);
      best = std::max(best, std::min((inside / step) + 1, a * b));
    }
  }
  return best;
}

TEST(Extent, OfAHaloIsTheLargestClippedBox) {
  const Numbers size{14, 3};
  for (const std::int64_t stride : {1, 2, 4}) {
    const ir::Dim dim = mapped({AxisId{0}, AxisId{1}}, {stride, 1}, -1);
    for (std::int64_t f = 1; f <= 14; ++f) {
      for (std::int64_t g = 1; g <= 3; ++g) {
        const Numbers tile{ceil_div(14, f), ceil_div(3, g)};
        EXPECT_EQ(extent(dim, 14 * stride, size, tile).count, boxed(dim, 14 * stride, size, tile))
            << "stride " << stride << ", factors " << f << " x " << g;
      }
    }
  }
}

TEST(Extent, OfPackedAxesIsTheirProductInRunsOfTheInnermostCutAxis) {
  const Numbers size{4, 6};
  const ir::Dim dim = mapped({AxisId{0}, AxisId{1}}, {6, 1});
  EXPECT_EQ(extent(dim, 24, size, Numbers{2, 6}).count, 12);
  EXPECT_EQ(extent(dim, 24, size, Numbers{2, 6}).intervals, 1);
  EXPECT_EQ(extent(dim, 24, size, Numbers{4, 3}).count, 12);
  EXPECT_EQ(extent(dim, 24, size, Numbers{4, 3}).intervals, 4);
}

TEST(Extent, OfAnAppendedTensorEndsWhereItsRowsEnd) {
  const Numbers size{9};
  EXPECT_EQ(extent(along(AxisId{0}), 8, size, Numbers{9}).count, 8);      // The old rows.
  EXPECT_EQ(extent(along(AxisId{0}, -8), 1, size, Numbers{9}).count, 1);  // The new one.
  EXPECT_EQ(extent(along(AxisId{0}, -8), 1, size, Numbers{3}).count, 1);
}

TEST(Box, CountsTheRunsOfATile) {
  const test::OneOp one = test::matmul(8, 4, 6);
  const ir::Tensor& x = one.graph.tensors[TensorId{0}];
  const Numbers size{8, 4, 6};
  const auto runs = [&](const Numbers& tile) {
    return box(x, one.op().operands[OperandId{0}], size, tile).runs;
  };
  EXPECT_EQ(runs({8, 4, 6}), 1);
  EXPECT_EQ(runs({2, 4, 6}), 1);
  EXPECT_EQ(runs({8, 4, 3}), 8);
}

TEST(Box, OfAnIndirectOperandIsItsPicksButNoMoreThanTheTable) {
  const test::OneOp one = test::embedding(10, 6, 4);
  const Numbers size{10, 4};
  const ir::Operand& table = one.op().operands[OperandId{0}];
  EXPECT_EQ(box(one.graph.tensors[TensorId{0}], table, size, Numbers{5, 4}).elements, 20);
  EXPECT_EQ(box(one.graph.tensors[TensorId{0}], table, size, Numbers{10, 4}).elements, 24);
}

TEST(SpreadFragments, CutsRunsAtTheSendersShares) {
  EXPECT_EQ(spread_fragments({.elements = 12, .runs = 3}, 48, 4), 3);
  EXPECT_EQ(spread_fragments({.elements = 24, .runs = 1}, 48, 4), 2);
  EXPECT_EQ(spread_fragments({.elements = 48, .runs = 2}, 48, 12), 12);
}

}  // namespace
}  // namespace elk::partition
