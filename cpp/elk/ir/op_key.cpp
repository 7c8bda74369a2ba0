#include "elk/ir/op_key.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/key_writer.hpp"

namespace elk::ir {
namespace {

/// Whether a map of all axes stays within a dimension of `shape` indices.
bool stays_within(const Op& op, const Dim& dim, std::int64_t shape) {
  std::int64_t last = dim.offset;
  for (std::size_t i = 0; i < dim.axes.size(); ++i) {
    last += dim.coef[i] * (op.axes[dim.axes[i]].size - 1);
  }
  return dim.offset >= 0 && last < shape;
}

bool is_read_once(const Op& op, const Operand& operand) {
  return operand.access == Access::Read && !operand.indirect &&
         std::ranges::count_if(op.operands, [&](const Operand& other) {
           return other.tensor == operand.tensor ||
                  (other.indirect && other.indirect->index == operand.tensor);
         }) == 1;
}

/// Writes an op's operands, and each tensor where it is first named.
class OperandWriter {
 public:
  OperandWriter(const Graph& graph, const Op& op, KeyOffsets offsets, KeyWriter& out)
      : graph_(graph), op_(op), offsets_(offsets), out_(out) {}

  void write(const Operand& operand) {
    tensor(operand.tensor);
    out_.add(operand.access);
    out_.add(operand.dims.size());
    const bool may_move = offsets_ == KeyOffsets::Clipping && is_read_once(op_, operand);
    const Table<DimId, std::int64_t>& shape = graph_.tensors[operand.tensor].shape;
    for (const DimId d : operand.dims.ids()) {
      const Dim& dim = operand.dims[d];
      const bool moves = may_move && dim.offset != 0 && stays_within(op_, dim, shape[d]);
      out_.add(dim.axes);
      out_.add(dim.coef);
      out_.add(moves ? 1 : 0);
      out_.add(moves ? 0 : dim.offset);
    }
    out_.add(operand.input);
    out_.add(operand.covers ? 1 : 0);
    out_.add(operand.indirect ? 1 : 0);
    if (operand.indirect) {
      tensor(operand.indirect->index);
      out_.add(operand.indirect->dim);
      out_.add(operand.indirect->axes);
      out_.add(operand.indirect->expected_picks);
    }
  }

 private:
  void tensor(TensorId number) {
    const auto found = std::find(named_.begin(), named_.end(), number);
    out_.add(found - named_.begin());
    if (found == named_.end()) {
      named_.push_back(number);
      const Tensor& tensor = graph_.tensors[number];
      out_.add(tensor.dtype);
      out_.add(tensor.home);
      out_.add(tensor.shape);
    }
  }

  const Graph& graph_;
  const Op& op_;
  KeyOffsets offsets_;
  KeyWriter& out_;
  std::vector<TensorId> named_;
};

}  // namespace

std::string op_key(const Graph& graph, const Op& op, KeyOffsets offsets) {
  KeyWriter out;
  out.add(op.kind);
  out.add(op.onnx_type);
  out.add(op.function);
  out.add(op.params);
  out.add(op.compute);
  out.add(op.accumulate);
  out.add(op.flops);
  out.add(op.axes.size());
  for (const Axis& axis : op.axes) {
    out.add(axis.size);
    out.add(axis.role);
    out.add(axis.tile_dim);
  }
  out.add(op.operands.size());
  OperandWriter operands(graph, op, offsets, out);
  for (const Operand& operand : op.operands) {
    operands.write(operand);
  }
  return std::move(out).key();
}

}  // namespace elk::ir
