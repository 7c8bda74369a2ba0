#include <utility>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/program/code/spaces.hpp"
#include "program/models.hpp"

namespace elk::program {
namespace {

using Spaces = std::vector<ExecuteSpace>;

std::optional<partition::Layout> resting(const Chain& c, TensorId tensor) {
  return rest_layout(c.graph, tensor, c.ops, lifetimes(c.graph), chip::small_chip());
}

TEST(ExecuteSpace, HoldsWhatThePreloadLeftOut) {
  Chain c = chain();
  const chip::Chip chip = chip::small_chip();
  c.ops[OpId{0}] = cut(c.graph, OpId{0}, {4, 8, 1});
  c.ops[OpId{0}].divisor[OperandId{1}] = 4;
  const auto x = resting(c, c.x);
  EXPECT_EQ(preload_space(c.graph, c.graph.ops[OpId{0}], c.ops[OpId{0}], chip),
            (Spaces{{OperandId{1}, {256}}}));
  EXPECT_EQ(
      execute_space(c.graph, c.graph.ops[OpId{0}], c.ops[OpId{0}], {&*x, nullptr, nullptr}, chip),
      (Spaces{{OperandId{0}, {256}}, {OperandId{1}, {768}}}));
}

TEST(ExecuteSpace, IsNothingForAnActivationThatLiesReady) {
  const Chain c = chain();
  const auto y = resting(c, c.y);
  EXPECT_EQ(execute_space(c.graph, c.graph.ops[OpId{1}], c.ops[OpId{1}], {&*y, nullptr},
                          chip::small_chip()),
            Spaces{});
}

TEST(ExecuteSpace, IsACopyOfAnActivationInAnotherLayout) {
  Chain c = chain();
  const auto y = resting(c, c.y);
  c.ops[OpId{1}] = cut(c.graph, OpId{1}, {8, 1});
  EXPECT_EQ(execute_space(c.graph, c.graph.ops[OpId{1}], c.ops[OpId{1}], {&*y, nullptr},
                          chip::small_chip()),
            (Spaces{{OperandId{0}, {128}}}));
}

TEST(ExecuteSpace, IsACopyOfAnActivationThatRotates) {
  Chain c = chain();
  c.ops[OpId{1}] = cut(c.graph, OpId{1}, {1, 1});
  c.ops[OpId{2}] = cut(c.graph, OpId{2}, {1, 8, 1});
  c.ops[OpId{2}].execute.temporal[OperandId{0}] = {1, 8};
  c.ops[OpId{2}].execute.pace[AxisId{2}] = 8;
  c.ops[OpId{2}].execute.loops = {AxisId{2}};
  const auto z = resting(c, c.z);
  EXPECT_EQ(execute_space(c.graph, c.graph.ops[OpId{2}], c.ops[OpId{2}], {&*z, nullptr, nullptr},
                          chip::small_chip()),
            (Spaces{{OperandId{0}, {128}}}));
}

TEST(ExecuteSpace, HoldsThePartOfAResultThatDoesNotRest) {
  Chain c = chain();
  c.ops[OpId{0}] = cut(c.graph, OpId{0}, {1, 8, 4});
  const chip::Chip chip = chip::small_chip();
  const Bytes whole =
      partition::footprint(c.graph, c.graph.ops[OpId{0}], c.ops[OpId{0}].execute, chip)
          .operand[OperandId{2}];
  const Bytes rest = program::Spaces(c.graph, chip, c.ops).rest(c.y);
  const auto x = resting(c, c.x);
  EXPECT_EQ(rest, Bytes{32});
  EXPECT_EQ(
      execute_space(c.graph, c.graph.ops[OpId{0}], c.ops[OpId{0}], {&*x, nullptr, nullptr}, chip)
          .back(),
      (ExecuteSpace{OperandId{2}, whole - rest}));
}

TEST(ExecuteSpace, OfATensorReadTwiceAlikeIsOneCopy) {
  Chain c = chain();
  ir::Op& op = c.graph.ops[OpId{1}];
  op.operands.insert(op.operands.begin(), op.operands.front());
  c.ops[OpId{1}] = cut(c.graph, OpId{1}, {8, 1});
  const auto y = resting(c, c.y);
  EXPECT_EQ(execute_space(c.graph, op, c.ops[OpId{1}], {&*y, &*y, nullptr}, chip::small_chip()),
            (Spaces{{OperandId{0}, {128}}}));
}

TEST(ExecuteSpace, OfASecondExpressionOfATensorIsACopy) {
  Chain c = chain();
  ir::Op& op = c.graph.ops[OpId{1}];
  ir::Operand again = op.operands.front();
  std::swap(again.dims[DimId{0}], again.dims[DimId{1}]);
  op.operands.insert(op.operands.begin() + 1, again);
  const Table<OperandId, std::int8_t> in_place{1, 1, 0};
  const Spaces copies =
      execute_space(c.graph, op, cut(c.graph, OpId{1}, {1, 1}), in_place, chip::small_chip());
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(copies.front().operand, OperandId{1});
}

TEST(RestSpace, OfAnInputIsAnEvenSpread) {
  const Chain c = chain();
  const chip::Chip chip = chip::small_chip();
  program::Spaces spaces(c.graph, chip, c.ops);
  EXPECT_EQ(spaces.rest(c.x), Bytes{16});
  EXPECT_EQ(spaces.rest(c.w0), Bytes{0});
  EXPECT_TRUE(resting(c, c.x)->spread);
  EXPECT_FALSE(resting(c, c.w0).has_value());
}

}  // namespace
}  // namespace elk::program
