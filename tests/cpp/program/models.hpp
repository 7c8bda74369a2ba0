#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chip/chips.hpp"
#include "elk/ir/graph.hpp"
#include "elk/program/program.hpp"

namespace elk::program {

inline std::int32_t add_tensor(ir::Graph& graph, std::string name, ir::Home home,
                               std::vector<std::int64_t> shape) {
  graph.tensors.push_back(
      {.name = std::move(name), .dtype = ir::DType::F16, .shape = std::move(shape), .home = home});
  return static_cast<std::int32_t>(graph.tensors.size()) - 1;
}

inline ir::Operand operand(std::int32_t tensor, ir::Access access,
                           const std::vector<std::int32_t>& axes) {
  ir::Operand out{
      .tensor = tensor, .access = access, .dims = {}, .indirect = std::nullopt, .spilled = false};
  for (const std::int32_t axis : axes) {
    out.dims.push_back({.axes = {axis}, .coef = {1}, .offset = 0});
  }
  return out;
}

/// y[m, n] = sum over k of x[m, k] * w[k, n]: axes m, n, k.
inline std::int32_t add_matmul(ir::Graph& graph, std::int32_t x, std::int32_t w, std::int32_t y) {
  const auto shape = [&](std::int32_t t) {
    return graph.tensors[static_cast<std::size_t>(t)].shape;
  };
  graph.ops.push_back(
      {.name = "matmul" + std::to_string(graph.ops.size()),
       .kind = ir::OpKind::MatMul,
       .onnx_type = "MatMul",
       .function = "matmul",
       .params = {},
       .compute = ir::DType::F16,
       .accumulate = ir::DType::F16,
       .axes = {{.name = "m",
                 .size = shape(x)[0],
                 .role = ir::AxisRole::Parallel,
                 .tile_dim = ir::TileDim::M},
                {.name = "n",
                 .size = shape(w)[1],
                 .role = ir::AxisRole::Parallel,
                 .tile_dim = ir::TileDim::N},
                {.name = "k",
                 .size = shape(w)[0],
                 .role = ir::AxisRole::Reduction,
                 .tile_dim = ir::TileDim::K}},
       .operands = {operand(x, ir::Access::Read, {0, 2}), operand(w, ir::Access::Read, {2, 1}),
                    operand(y, ir::Access::Write, {0, 1})},
       .flops = 2 * shape(x)[0] * shape(w)[1] * shape(w)[0]});
  return static_cast<std::int32_t>(graph.ops.size()) - 1;
}

/// y[m, n] = exp(x[m, n]): axes m, n.
inline std::int32_t add_exp(ir::Graph& graph, std::int32_t x, std::int32_t y) {
  const std::vector<std::int64_t> shape = graph.tensors[static_cast<std::size_t>(x)].shape;
  graph.ops.push_back(
      {.name = "exp" + std::to_string(graph.ops.size()),
       .kind = ir::OpKind::Elementwise,
       .onnx_type = "Exp",
       .function = "exp",
       .params = {},
       .compute = ir::DType::F16,
       .accumulate = ir::DType::F16,
       .axes = {{.name = "m",
                 .size = shape[0],
                 .role = ir::AxisRole::Parallel,
                 .tile_dim = ir::TileDim::Elements},
                {.name = "n",
                 .size = shape[1],
                 .role = ir::AxisRole::Parallel,
                 .tile_dim = ir::TileDim::Elements}},
       .operands = {operand(x, ir::Access::Read, {0, 1}), operand(y, ir::Access::Write, {0, 1})},
       .flops = shape[0] * shape[1]});
  return static_cast<std::int32_t>(graph.ops.size()) - 1;
}

/// A plan that cuts the axes of `op` by `factors`; HBM operands are preloaded whole.
inline OpPlan cut(const ir::Graph& graph, std::int32_t op, std::vector<std::int64_t> factors) {
  const ir::Op& node = graph.ops[static_cast<std::size_t>(op)];
  OpPlan plan{.execute = {.factors = std::move(factors),
                          .temporal = {node.operands.size(), std::vector<std::int64_t>{}},
                          .pace = std::vector<std::int64_t>(node.axes.size(), 0),
                          .order = {},
                          .loops = {},
                          .mesh_dims = std::vector<std::int32_t>(node.axes.size(), -1)},
              .divisor = {}};
  for (std::size_t axis = 0; axis < plan.execute.factors.size(); ++axis) {
    if (plan.execute.factors[axis] > 1) {
      plan.execute.order.push_back(static_cast<std::int32_t>(axis));
    }
  }
  for (const ir::Operand& x : node.operands) {
    plan.divisor.push_back(partition::from_hbm(graph, x) ? 1 : 0);
  }
  return plan;
}

/// x -> matmul -> y -> exp -> z -> matmul -> out, on 8 x 64 activations: two weights of 64 x 64.
/// All ops are cut in 8 along n, so that only what a matmul reads has to be gathered.
struct Chain {
  ir::Graph graph;
  std::vector<OpPlan> ops;
  std::int32_t x;
  std::int32_t w0;
  std::int32_t y;
  std::int32_t z;
  std::int32_t w1;
  std::int32_t out;
};

inline Chain chain() {
  Chain c{.graph = {.name = "chain",
                    .tensors = {},
                    .ops = {},
                    .stores = {},
                    .repeat = std::nullopt,
                    .outputs = {}},
          .ops = {},
          .x = 0,
          .w0 = 0,
          .y = 0,
          .z = 0,
          .w1 = 0,
          .out = 0};
  c.x = add_tensor(c.graph, "x", ir::Home::Input, {8, 64});
  c.w0 = add_tensor(c.graph, "w0", ir::Home::Weight, {64, 64});
  c.y = add_tensor(c.graph, "y", ir::Home::Activation, {8, 64});
  c.z = add_tensor(c.graph, "z", ir::Home::Activation, {8, 64});
  c.w1 = add_tensor(c.graph, "w1", ir::Home::Weight, {64, 64});
  c.out = add_tensor(c.graph, "out", ir::Home::Output, {8, 64});
  add_matmul(c.graph, c.x, c.w0, c.y);
  add_exp(c.graph, c.y, c.z);
  add_matmul(c.graph, c.z, c.w1, c.out);
  c.graph.outputs = {c.out};
  c.ops = {cut(c.graph, 0, {1, 8, 1}), cut(c.graph, 1, {1, 8}), cut(c.graph, 2, {1, 8, 1})};
  return c;
}

/// The program of `c` with both preloads ahead of everything, placed.
inline Program program_of(const Chain& c, const chip::Chip& chip) {
  const bool loads = chip.hbm.has_value();
  Program program{
      .ops = c.ops,
      .code = issue(c.graph, loads ? std::vector<std::int32_t>{0, 2} : std::vector<std::int32_t>{},
                    {2, 2, 2}),
      .buffers = {}};
  program.buffers =
      place(buffers(c.graph, chip, program.ops, program.code), chip::room(chip)).value();
  return program;
}

}  // namespace elk::program
