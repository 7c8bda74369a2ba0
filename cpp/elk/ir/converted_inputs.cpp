#include "elk/ir/converted_inputs.hpp"

#include <algorithm>

namespace elk::ir {
namespace {

bool is_product(const Op& op) {
  const bool real = op.compute <= DType::F8;
  return real &&
         (op.kind == OpKind::MatMul || op.kind == OpKind::Conv || op.kind == OpKind::DepthwiseConv);
}

bool has_input(const Op& op, std::int32_t input) {
  return std::ranges::find(op.constants, input) != op.constants.end() ||
         std::ranges::any_of(op.operands, [&](const Operand& operand) {
           return operand.access == Access::Read && operand.input == input;
         });
}

}  // namespace

std::vector<ConvertedInput> converted_inputs(const Graph& graph, const Op& op) {
  std::vector<ConvertedInput> result;
  if (!is_product(op)) {
    return result;
  }
  for (std::int32_t input = 0; input < 2; ++input) {
    const auto read = std::ranges::find_if(op.operands, [&](const Operand& operand) {
      return operand.access == Access::Read && operand.input == input;
    });
    if (read == op.operands.end()) {
      continue;
    }
    const ConvertedInput found{.input = input,
                               .stored = graph.tensors[read->tensor].dtype,
                               .has_scale = has_input(op, scale_input(input)),
                               .has_zero = has_input(op, zero_input(input))};
    if (found.stored != op.compute || found.has_scale || found.has_zero) {
      result.push_back(found);
    }
  }
  return result;
}

}  // namespace elk::ir
