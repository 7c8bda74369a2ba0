#pragma once

#include <cstdint>
#include <string>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/text.hpp"
#include "elk/ir/graph.hpp"
#include "schedule/models.hpp"

/// Small models to train, built op by op.
namespace elk::test {

/// The op that a net has got last.
inline OpId last_op(const Net& net) { return net.graph.ops.end_id() - 1; }

/// Rows to pick from a table: an input of whole numbers.
inline TensorId indices(Net& net, std::int64_t count) {
  const TensorId index = net.tensor(ir::Home::Input, {count});
  net.graph.tensors[index].dtype = ir::DType::I32;
  return index;
}

/// An activation that weights lead to, so that it has a gradient, and that no device holds in
/// parts: an input with a bias along its last dimension.
inline TensorId trained(Net& net, const Table<DimId, std::int64_t>& shape) {
  OneOp one(ir::OpKind::Elementwise, "add", {});
  Table<DimId, ir::Dim> dims;
  for (const DimId dim : shape.ids()) {
    dims.push_back(along(one.op().axes.end_id()));
    one.op().axes.push_back(
        parallel(text("d", dim), shape[dim],
                 dim == shape.end_id() - 1 ? ir::TileDim::Cols : ir::TileDim::Rows));
  }
  one.reads(ir::Home::Activation, shape, dims)
      .reads(ir::Home::Weight, {shape.back()}, {dims.back()})
      .writes(shape, dims);
  return net.add(one, {net.tensor(ir::Home::Input, shape)});
}

/// y[r, c] = f(x[r, c]) for a function of one tensor, or of a tensor and a number.
inline OneOp map_of(const std::string& function, std::int64_t rows, std::int64_t cols) {
  OneOp one = exp_of(rows, cols);
  one.op().function = function;
  return one;
}

/// The product of two activations, y[m, n] = a[m, k] b[k, n].
inline OneOp product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return matmul(m, n, k, ir::Home::Activation);
}

/// Two products with what bends the values between them, as in each layer of a transformer.
inline TensorId mlp(Net& net, TensorId x, std::int64_t rows, std::int64_t width) {
  const TensorId up = net.add(matmul(rows, 4 * width, width), {x});
  const TensorId bent = net.add(exp_of(rows, 4 * width), {up});
  return net.add(matmul(rows, width, 4 * width), {bent});
}

}  // namespace elk::test
