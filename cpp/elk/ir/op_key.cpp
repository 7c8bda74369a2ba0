#include "elk/ir/op_key.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/key_writer.hpp"

namespace elk::ir {
namespace {

/// Writes an op's operands, and each tensor where it is first named.
class OperandWriter {
 public:
  OperandWriter(const Graph& graph, KeyWriter& out) : graph_(graph), out_(out) {}

  void write(const Operand& operand) {
    tensor(operand.tensor);
    out_.add(operand.access);
    out_.add(operand.dims.size());
    for (const Dim& dim : operand.dims) {
      out_.add(dim.axes);
      out_.add(dim.coef);
      out_.add(dim.offset);
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
  KeyWriter& out_;
  std::vector<TensorId> named_;
};

}  // namespace

std::string op_key(const Graph& graph, const Op& op) {
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
  OperandWriter operands(graph, out);
  for (const Operand& operand : op.operands) {
    operands.write(operand);
  }
  return std::move(out).key();
}

}  // namespace elk::ir
