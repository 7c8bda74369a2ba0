#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/ir/op_key.hpp"

namespace elk::ir {
namespace {

Tensor tensor(const char* name, Home home) {
  return {.name = name, .dtype = DType::F16, .shape = {8, 4}, .home = home};
}

Operand operand(TensorId tensor, Access access) {
  const auto dim = [](AxisId axis) { return Dim{.axes = {axis}, .coef = {1}, .offset = 0}; };
  return {.tensor = tensor,
          .access = access,
          .dims = {dim(AxisId{0}), dim(AxisId{1})},
          .indirect = std::nullopt};
}

/// y = a + b, with `a` and `b` at these positions.
Op sum(TensorId a, TensorId b, TensorId y) {
  return {
      .name = "sum",
      .kind = OpKind::Elementwise,
      .onnx_type = "Add",
      .function = "add",
      .params = {},
      .compute = DType::F16,
      .accumulate = DType::F16,
      .axes = {{.name = "i", .size = 8, .role = AxisRole::Parallel, .tile_dim = TileDim::Elements},
               {.name = "j", .size = 4, .role = AxisRole::Parallel, .tile_dim = TileDim::Elements}},
      .operands = {operand(a, Access::Read), operand(b, Access::Read), operand(y, Access::Write)},
      .flops = 32};
}

Graph tensors() {
  return {.name = "graph",
          .tensors = {tensor("a", Home::Input), tensor("b", Home::Input), tensor("w", Home::Weight),
                      tensor("y", Home::Activation)},
          .ops = {},
          .stores = {},
          .repeat = std::nullopt,
          .outputs = {}};
}

TEST(OpKey, IsTheSameWhateverNamesAndNumbersTensorsHave) {
  const Graph graph = tensors();
  Graph other = tensors();
  std::swap(other.tensors[TensorId{0}], other.tensors[TensorId{3}]);
  Op renamed = sum(TensorId{3}, TensorId{1}, TensorId{0});
  renamed.name = "another";
  renamed.scalars = {2.0};
  EXPECT_EQ(op_key(graph, sum(TensorId{0}, TensorId{1}, TensorId{3})), op_key(other, renamed));
}

TEST(OpKey, TellsTensorsAndHomesApart) {
  const Graph graph = tensors();
  EXPECT_NE(op_key(graph, sum(TensorId{0}, TensorId{1}, TensorId{3})),
            op_key(graph, sum(TensorId{0}, TensorId{0}, TensorId{3})));
  EXPECT_NE(op_key(graph, sum(TensorId{0}, TensorId{1}, TensorId{3})),
            op_key(graph, sum(TensorId{0}, TensorId{2}, TensorId{3})));
  Graph wide = tensors();
  wide.tensors[TensorId{1}].dtype = DType::F32;
  EXPECT_NE(op_key(graph, sum(TensorId{0}, TensorId{1}, TensorId{3})),
            op_key(wide, sum(TensorId{0}, TensorId{1}, TensorId{3})));
}

TEST(OpKey, TellsApartWhateverPlansDependOn) {
  const Graph graph = tensors();
  const std::string key = op_key(graph, sum(TensorId{0}, TensorId{1}, TensorId{3}));
  std::vector<Op> others(8, sum(TensorId{0}, TensorId{1}, TensorId{3}));
  others[0].function = "mul";
  others[1].axes[AxisId{0}].size = 9;
  others[2].axes[AxisId{1}].role = AxisRole::Reduction;
  others[3].operands[OperandId{0}].dims[DimId{0}].offset = 1;
  others[4].operands[OperandId{0}].dims[DimId{0}].coef = {2};
  others[5].operands[OperandId{0}].input = 7;
  others[6].operands[OperandId{0}].indirect = {
      .index = TensorId{1}, .dim = DimId{0}, .axes = {AxisId{0}}, .expected_picks = 4.0};
  others[7].flops = 33;
  for (const Op& other : others) {
    EXPECT_NE(op_key(graph, other), key);
  }
}

TEST(OpKey, MayLeaveOutWhereAReadBeginsThatNothingClips) {
  Graph graph = tensors();
  graph.tensors[TensorId{0}].shape = {24, 4};
  const auto key = [&](std::int64_t begin, TensorId other) {
    Op op = sum(TensorId{0}, other, TensorId{3});
    op.operands[OperandId{0}].dims[DimId{0}].offset = begin;
    return op_key(graph, op, KeyOffsets::Clipping);
  };
  EXPECT_EQ(key(1, TensorId{1}), key(16, TensorId{1}));
  EXPECT_NE(key(1, TensorId{1}), key(0, TensorId{1}));
  EXPECT_NE(key(1, TensorId{1}), key(17, TensorId{1}));  // Beyond the end.
  EXPECT_NE(key(1, TensorId{1}), key(-1, TensorId{1}));
  EXPECT_NE(key(1, TensorId{0}), key(16, TensorId{0}));  // Read twice.
}

}  // namespace
}  // namespace elk::ir
