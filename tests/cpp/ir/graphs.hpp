#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/text.hpp"
#include "elk/ir/graph.hpp"

namespace elk::ir::testing {

/// A dimension indexed by one axis, whole and in order.
inline Dim along(AxisId axis) { return {.axes = {axis}, .coef = {1}, .offset = 0}; }

inline Operand operand(TensorId tensor, Access access, Table<DimId, Dim> dims) {
  return {.tensor = tensor, .access = access, .dims = std::move(dims), .indirect = std::nullopt};
}

inline Operand read(TensorId tensor) { return operand(tensor, Access::Read, {along(AxisId{0})}); }

inline Operand write(TensorId tensor) { return operand(tensor, Access::Write, {along(AxisId{0})}); }

inline Tensor vector_of(std::string name, std::int64_t size, Home home) {
  return {.name = std::move(name), .dtype = DType::F16, .shape = {size}, .home = home};
}

/// An elementwise op over one axis.
inline Op op(std::string name, std::string function, std::int64_t size,
             Table<OperandId, Operand> operands) {
  return {.name = std::move(name),
          .kind = OpKind::Elementwise,
          .onnx_type = "Test",
          .function = std::move(function),
          .params = {},
          .compute = DType::F16,
          .accumulate = DType::F16,
          .axes = {{.name = "i",
                    .size = size,
                    .role = AxisRole::Parallel,
                    .tile_dim = TileDim::Elements}},
          .operands = std::move(operands),
          .flops = size};
}

/// Builds graphs of ops over vectors of one size.
class Chain {
 public:
  explicit Chain(std::int64_t size) : size_(size) {}

  TensorId tensor(Home home) {
    graph_.tensors.push_back(vector_of(text("t", graph_.tensors.size()), size_, home));
    return TensorId{static_cast<std::int32_t>(graph_.tensors.size()) - 1};
  }

  /// Adds an op and returns the tensor that it makes.
  TensorId add(const std::string& function, const std::vector<TensorId>& inputs,
               Home home = Home::Activation) {
    const TensorId made = tensor(home);
    Table<OperandId, Operand> operands;
    for (const TensorId input : inputs) {
      operands.push_back(read(input));
    }
    operands.push_back(write(made));
    graph_.ops.push_back(op(text("op", graph_.ops.size()), function, size_, std::move(operands)));
    return made;
  }

  Graph& graph() { return graph_; }

 private:
  std::int64_t size_;
  Graph graph_{.name = "chain",
               .tensors = {},
               .ops = {},
               .stores = {},
               .repeat = std::nullopt,
               .outputs = {}};
};

}  // namespace elk::ir::testing
