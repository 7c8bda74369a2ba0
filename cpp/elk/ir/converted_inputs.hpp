#pragma once

#include <cstdint>
#include <vector>

#include "elk/ir/graph.hpp"

namespace elk::ir {

/// Inputs 0 and 1 of a product (a matmul or a convolution) may be stored in another type than the
/// op computes in: an element counts as (stored - zero) * scale, in the op's type. Scale and zero
/// are inputs of their own behind the bias, or constants of the op.
[[nodiscard]] constexpr std::int32_t scale_input(std::int32_t input) { return 3 + (2 * input); }
[[nodiscard]] constexpr std::int32_t zero_input(std::int32_t input) { return 4 + (2 * input); }

/// One input of a product that is converted as it is read.
struct ConvertedInput {
  std::int32_t input;
  DType stored;
  bool has_scale;
  bool has_zero;

  friend bool operator==(const ConvertedInput&, const ConvertedInput&) = default;
};

/// The inputs that `op` converts, ascending. Products of integers convert none: zero points are
/// among their numbers.
[[nodiscard]] std::vector<ConvertedInput> converted_inputs(const Graph& graph, const Op& op);

}  // namespace elk::ir
