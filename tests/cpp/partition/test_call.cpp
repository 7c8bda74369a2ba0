#include <cstdint>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/call.hpp"
#include "partition/ops.hpp"

namespace elk::partition {
namespace {

using test::along;

TEST(CallBytes, CountsEveryOperandOfASubTask) {
  test::OneOp product(
      ir::OpKind::MatMul, "matmul",
      {test::parallel("m", 8, ir::TileDim::M), test::parallel("n", 6, ir::TileDim::N),
       test::reduction("k", 10, ir::TileDim::K)});
  product.reads(ir::Home::Activation, {8, 10}, {along(AxisId{0}), along(AxisId{2})})
      .reads(ir::Home::Weight, {10, 6}, {along(AxisId{2}), along(AxisId{1})})
      .writes({8, 6}, {along(AxisId{0}), along(AxisId{1})});
  const Table<AxisId, std::int64_t> size{4, 3, 5};
  EXPECT_EQ(call_bytes(product.graph, product.op(), size),
            Bytes{2 * ((4 * 5) + (5 * 3) + (4 * 3))});
}

}  // namespace
}  // namespace elk::partition
