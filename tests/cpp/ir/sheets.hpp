#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/ir/graph.hpp"
#include "ir/graphs.hpp"

namespace elk::ir::testing {

/// Ops over rows and columns, whose operands are those of a node.
struct Sheet {
  Graph graph{.name = "sheet", .tensors = {}, .ops = {}, .stores = {}, .repeat = {}, .outputs = {}};
  std::int64_t rows = 6;
  std::int64_t cols = 4;

  TensorId tensor(Home home) {
    const auto number = static_cast<std::int32_t>(graph.tensors.size());
    graph.tensors.push_back({.name = "t" + std::to_string(number),
                             .dtype = DType::F16,
                             .shape = {rows, cols},
                             .home = home});
    return TensorId{number};
  }

  /// Adds an op that reads and writes row by row, and returns what it makes.
  TensorId add(const std::vector<TensorId>& inputs, Home home = Home::Activation) {
    const TensorId made = tensor(home);
    Op op = testing::op("op" + std::to_string(graph.ops.size()), "add", rows, {});
    op.axes.push_back(
        {.name = "j", .size = cols, .role = AxisRole::Parallel, .tile_dim = TileDim::Elements});
    op.flops = rows * cols;
    for (const TensorId input : inputs) {
      op.operands.push_back(
          testing::operand(input, Access::Read, {along(AxisId{0}), along(AxisId{1})}));
      op.operands.back().input = static_cast<std::int32_t>(op.operands.size()) - 1;
    }
    op.operands.push_back(
        testing::operand(made, Access::Write, {along(AxisId{0}), along(AxisId{1})}));
    op.operands.back().input = 0;
    graph.ops.push_back(std::move(op));
    return made;
  }
};

}  // namespace elk::ir::testing
