#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "elk/emulate/kernels/kernel_call.hpp"
#include "elk/emulate/machine/pieces.hpp"

namespace elk::emulate {
namespace {

ir::Tensor tensor(const char* name, std::vector<std::int64_t> shape, ir::DType dtype) {
  return {.name = name, .dtype = dtype, .shape = std::move(shape), .home = ir::Home::Activation};
}

ir::Operand operand(std::int32_t number, ir::Access access, std::vector<ir::Dim> dims) {
  return {.tensor = number,
          .access = access,
          .dims = std::move(dims),
          .indirect = {},
          .spilled = false,
          .input = access == ir::Access::Read ? number : -1};
}

/// c[m, n] = sum over k of a[m, k] * b[k, n].
ir::Graph product_graph(std::int64_t m, std::int64_t n, std::int64_t k, ir::DType dtype) {
  using Axis = ir::Axis;
  ir::Op op{.name = "product",
            .kind = ir::OpKind::MatMul,
            .onnx_type = "MatMul",
            .function = "matmul",
            .params = {},
            .compute = dtype,
            .accumulate = dtype,
            .axes = {Axis{"m", m, ir::AxisRole::Parallel, ir::TileDim::M},
                     Axis{"n", n, ir::AxisRole::Parallel, ir::TileDim::N},
                     Axis{"k", k, ir::AxisRole::Reduction, ir::TileDim::K}},
            .operands = {operand(0, ir::Access::Read, {{{0}, {1}, 0}, {{2}, {1}, 0}}),
                         operand(1, ir::Access::Read, {{{2}, {1}, 0}, {{1}, {1}, 0}}),
                         operand(2, ir::Access::Write, {{{0}, {1}, 0}, {{1}, {1}, 0}})},
            .flops = 2 * m * n * k};
  return {.name = "product",
          .tensors = {tensor("a", {m, k}, dtype), tensor("b", {k, n}, dtype),
                      tensor("c", {m, n}, dtype)},
          .ops = {op},
          .stores = {},
          .repeat = {},
          .outputs = {2}};
}

std::vector<float> product_in_tiles(const std::vector<std::int64_t>& factors) {
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
  const std::vector<PieceBytes> pieces{{whole(graph.tensors[0]), bytes(a), ir::DType::F32},
                                       {whole(graph.tensors[1]), bytes(b), ir::DType::F32},
                                       {whole(graph.tensors[2]), bytes(c), ir::DType::F32}};
  compute_in_tiles(graph, graph.ops[0], pieces, factors);
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
