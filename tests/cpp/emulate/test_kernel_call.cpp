#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/emulate/kernels/kernel_call.hpp"
#include "elk/emulate/machine/pieces.hpp"

namespace elk::emulate {
namespace {

ir::Tensor tensor(const char* name, Table<DimId, std::int64_t> shape, ir::DType dtype) {
  return {.name = name, .dtype = dtype, .shape = std::move(shape), .home = ir::Home::Activation};
}

ir::Operand operand(TensorId number, ir::Access access, Table<DimId, ir::Dim> dims) {
  return {.tensor = number,
          .access = access,
          .dims = std::move(dims),
          .indirect = {},
          .input = access == ir::Access::Read ? number.value : -1};
}

/// c[m, n] = sum over k of a[m, k] * b[k, n].
ir::Graph product_graph(std::int64_t m, std::int64_t n, std::int64_t k, ir::DType dtype) {
  using Axis = ir::Axis;
  ir::Op op{
      .name = "product",
      .kind = ir::OpKind::MatMul,
      .onnx_type = "MatMul",
      .function = "matmul",
      .params = {},
      .compute = dtype,
      .accumulate = dtype,
      .axes = {Axis{"m", m, ir::AxisRole::Parallel, ir::TileDim::M},
               Axis{"n", n, ir::AxisRole::Parallel, ir::TileDim::N},
               Axis{"k", k, ir::AxisRole::Reduction, ir::TileDim::K}},
      .operands =
          {operand(TensorId{0}, ir::Access::Read, {{{AxisId{0}}, {1}, 0}, {{AxisId{2}}, {1}, 0}}),
           operand(TensorId{1}, ir::Access::Read, {{{AxisId{2}}, {1}, 0}, {{AxisId{1}}, {1}, 0}}),
           operand(TensorId{2}, ir::Access::Write, {{{AxisId{0}}, {1}, 0}, {{AxisId{1}}, {1}, 0}})},
      .flops = 2 * m * n * k};
  return {.name = "product",
          .tensors = {tensor("a", {m, k}, dtype), tensor("b", {k, n}, dtype),
                      tensor("c", {m, n}, dtype)},
          .ops = {op},
          .stores = {},
          .repeat = {},
          .outputs = {TensorId{2}}};
}

std::vector<float> product_in_tiles(const Table<AxisId, std::int64_t>& factors) {
  const ir::Graph graph = product_graph(3, 2, 5, ir::DType::F32);
  std::vector<float> a(15);
  std::vector<float> b(10);
  std::vector<float> c(6, -1);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i);
  }
  for (std::size_t i = 0; i < b.size(); ++i) {
    b[i] = static_cast<float>(i) - 4;
  }
  const auto bytes = [](std::vector<float>& values) {
    return reinterpret_cast<std::byte*>(values.data());
  };
  const Table<OperandId, PieceBytes> pieces{
      {whole(graph.tensors[TensorId{0}]), bytes(a), ir::DType::F32},
      {whole(graph.tensors[TensorId{1}]), bytes(b), ir::DType::F32},
      {whole(graph.tensors[TensorId{2}]), bytes(c), ir::DType::F32}};
  compute_in_tiles(graph, graph.ops[OpId{0}], pieces, factors);
  return c;
}

TEST(KernelCall, OfAProductIsTheSumOverItsReductionAxis) {
  const std::vector<float> wanted{20, 30, 20, 55, 20, 80};
  EXPECT_EQ(product_in_tiles({1, 1, 1}), wanted);
}

TEST(KernelCall, PartsOfAProductAddUp) {
  EXPECT_EQ(product_in_tiles({2, 2, 3}), product_in_tiles({1, 1, 1}));
}

}  // namespace
}  // namespace elk::emulate
