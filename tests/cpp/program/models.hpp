#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chip/chips.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/graph.hpp"
#include "elk/ir/spills.hpp"
#include "elk/ir/waves.hpp"
#include "elk/program/program.hpp"

namespace elk::program {

inline TensorId add_tensor(ir::Graph& graph, std::string name, ir::Home home,
                           Table<DimId, std::int64_t> shape) {
  graph.tensors.push_back(
      {.name = std::move(name), .dtype = ir::DType::F16, .shape = std::move(shape), .home = home});
  return TensorId{static_cast<std::int32_t>(graph.tensors.size()) - 1};
}

inline ir::Operand operand(TensorId tensor, ir::Access access, const std::vector<AxisId>& axes) {
  ir::Operand out{.tensor = tensor, .access = access, .dims = {}, .indirect = std::nullopt};
  for (const AxisId axis : axes) {
    out.dims.push_back({.axes = {axis}, .coef = {1}, .offset = 0});
  }
  return out;
}

/// y[m, n] = sum over k of x[m, k] * w[k, n]: axes m, n, k.
inline OpId add_matmul(ir::Graph& graph, TensorId x, TensorId w, TensorId y) {
  const auto shape = [&](TensorId t) { return graph.tensors[t].shape; };
  graph.ops.push_back({.name = "matmul" + std::to_string(graph.ops.size()),
                       .kind = ir::OpKind::MatMul,
                       .onnx_type = "MatMul",
                       .function = "matmul",
                       .params = {},
                       .compute = ir::DType::F16,
                       .accumulate = ir::DType::F16,
                       .axes = {{.name = "m",
                                 .size = shape(x)[DimId{0}],
                                 .role = ir::AxisRole::Parallel,
                                 .tile_dim = ir::TileDim::M},
                                {.name = "n",
                                 .size = shape(w)[DimId{1}],
                                 .role = ir::AxisRole::Parallel,
                                 .tile_dim = ir::TileDim::N},
                                {.name = "k",
                                 .size = shape(w)[DimId{0}],
                                 .role = ir::AxisRole::Reduction,
                                 .tile_dim = ir::TileDim::K}},
                       .operands = {operand(x, ir::Access::Read, {AxisId{0}, AxisId{2}}),
                                    operand(w, ir::Access::Read, {AxisId{2}, AxisId{1}}),
                                    operand(y, ir::Access::Write, {AxisId{0}, AxisId{1}})},
                       .flops = 2 * shape(x)[DimId{0}] * shape(w)[DimId{1}] * shape(w)[DimId{0}]});
  return OpId{static_cast<std::int32_t>(graph.ops.size()) - 1};
}

/// y[m, n] = exp(x[m, n]): axes m, n.
inline OpId add_exp(ir::Graph& graph, TensorId x, TensorId y) {
  const Table<DimId, std::int64_t> shape = graph.tensors[x].shape;
  graph.ops.push_back({.name = "exp" + std::to_string(graph.ops.size()),
                       .kind = ir::OpKind::Elementwise,
                       .onnx_type = "Exp",
                       .function = "exp",
                       .params = {},
                       .compute = ir::DType::F16,
                       .accumulate = ir::DType::F16,
                       .axes = {{.name = "m",
                                 .size = shape[DimId{0}],
                                 .role = ir::AxisRole::Parallel,
                                 .tile_dim = ir::TileDim::Elements},
                                {.name = "n",
                                 .size = shape[DimId{1}],
                                 .role = ir::AxisRole::Parallel,
                                 .tile_dim = ir::TileDim::Elements}},
                       .operands = {operand(x, ir::Access::Read, {AxisId{0}, AxisId{1}}),
                                    operand(y, ir::Access::Write, {AxisId{0}, AxisId{1}})},
                       .flops = shape[DimId{0}] * shape[DimId{1}]});
  return OpId{static_cast<std::int32_t>(graph.ops.size()) - 1};
}

/// A plan that cuts the axes of `op` by `factors`; HBM operands are preloaded whole.
inline OpPlan cut(const ir::Graph& graph, OpId op, Table<AxisId, std::int64_t> factors) {
  const ir::Op& node = graph.ops[op];
  OpPlan plan{.execute = {.factors = std::move(factors),
                          .temporal = {node.operands.size(), std::vector<std::int64_t>{}},
                          .pace = Table<AxisId, std::int64_t>(node.axes.size(), 0),
                          .order = {},
                          .loops = {},
                          .mesh_dims = Table<AxisId, std::int32_t>(node.axes.size(), -1)},
              .divisor = {}};
  for (const AxisId axis : plan.execute.factors.ids()) {
    if (plan.execute.factors[axis] > 1) {
      plan.execute.order.push_back(axis);
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
  Table<OpId, OpPlan> ops;
  TensorId x;
  TensorId w0;
  TensorId y;
  TensorId z;
  TensorId w1;
  TensorId out;
};

inline Chain chain() {
  Chain c{.graph = {.name = "chain",
                    .tensors = {},
                    .ops = {},
                    .stores = {},
                    .repeat = std::nullopt,
                    .outputs = {}},
          .ops = {},
          .x = TensorId{0},
          .w0 = TensorId{0},
          .y = TensorId{0},
          .z = TensorId{0},
          .w1 = TensorId{0},
          .out = TensorId{0}};
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
  c.ops = {cut(c.graph, OpId{0}, {1, 8, 1}), cut(c.graph, OpId{1}, {1, 8}),
           cut(c.graph, OpId{2}, {1, 8, 1})};
  return c;
}

/// Has ops from `reader` on read `tensor` from HBM.
inline void spill(Chain& c, TensorId tensor, OpId reader) {
  Table<TensorId, OpId> from(c.graph.tensors.size(), OpId::none);
  from[tensor] = reader;
  c.graph = ir::spilled(ir::in_no_waves(c.graph), from).graph;
}

/// The program of `c` with both preloads ahead of everything, placed.
inline Program program_of(const Chain& c, const chip::Chip& chip) {
  const bool loads = chip.hbm.has_value();
  Program program{
      .ops = c.ops,
      .code = issue(c.graph, loads ? std::vector<OpId>{OpId{0}, OpId{2}} : std::vector<OpId>{},
                    {2, 2, 2}),
      .buffers = {}};
  program.buffers =
      place(buffers(c.graph, chip, program.ops, program.code), chip::room(chip)).value();
  return program;
}

}  // namespace elk::program
