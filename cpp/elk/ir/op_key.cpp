#include "elk/ir/op_key.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"

namespace elk::ir {
namespace {

/// Numbers in a row. Lists and texts say their length first, so that no two read alike.
class KeyWriter {
 public:
  template <class Integer>
  void number(Integer value) {
    const auto bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    for (unsigned at = 0; at < 64U; at += 8U) {
      key_.push_back(static_cast<char>((bits >> at) & 0xffU));
    }
  }
  template <class Integer>
  void list(const std::vector<Integer>& values) {
    number(values.size());
    std::for_each(values.begin(), values.end(), [&](Integer value) { number(value); });
  }
  void word(const std::string& value) {
    number(value.size());
    key_ += value;
  }
  [[nodiscard]] std::string key() && { return std::move(key_); }

 private:
  std::string key_;
};

/// Writes an op's operands, and each tensor where it is first named.
class OperandWriter {
 public:
  OperandWriter(const Graph& graph, KeyWriter& out) : graph_(graph), out_(out) {}

  void write(const Operand& operand) {
    tensor(operand.tensor);
    out_.number(operand.access);
    out_.number(operand.dims.size());
    for (const Dim& dim : operand.dims) {
      out_.list(dim.axes);
      out_.list(dim.coef);
      out_.number(dim.offset);
    }
    out_.number(operand.spilled ? 1 : 0);
    out_.number(operand.input);
    out_.number(operand.indirect ? 1 : 0);
    if (operand.indirect) {
      tensor(operand.indirect->index);
      out_.number(operand.indirect->dim);
      out_.list(operand.indirect->axes);
      out_.number(std::bit_cast<std::int64_t>(operand.indirect->expected_picks));
    }
  }

 private:
  void tensor(std::int32_t number) {
    const auto found = std::find(named_.begin(), named_.end(), number);
    out_.number(found - named_.begin());
    if (found == named_.end()) {
      named_.push_back(number);
      const Tensor& tensor = graph_.tensors[subscript(number)];
      out_.number(tensor.dtype);
      out_.number(tensor.home);
      out_.list(tensor.shape);
    }
  }

  const Graph& graph_;
  KeyWriter& out_;
  std::vector<std::int32_t> named_;
};

}  // namespace

std::string op_key(const Graph& graph, const Op& op) {
  KeyWriter out;
  out.number(op.kind);
  out.word(op.onnx_type);
  out.word(op.function);
  out.list(op.params);
  out.number(op.compute);
  out.number(op.accumulate);
  out.number(op.flops);
  out.number(op.axes.size());
  for (const Axis& axis : op.axes) {
    out.number(axis.size);
    out.number(axis.role);
    out.number(axis.tile_dim);
  }
  out.number(op.operands.size());
  OperandWriter operands(graph, out);
  for (const Operand& operand : op.operands) {
    operands.write(operand);
  }
  return std::move(out).key();
}

}  // namespace elk::ir
