#pragma once

#include <cstdint>
#include <vector>

#include "elk/emulate/kernels/kernel_call.hpp"

namespace elk::emulate {

/// Computes an op whose operands lie whole in `operands`, tile after tile, into the pieces of its
/// results. Axis `i` is cut into at most `factors[i]` tiles. Partial results are kept at accumulate
/// width, rows that are cut are told by values of their parts: a program without its movements.
void compute_in_tiles(const ir::Graph& graph, const ir::Op& op,
                      const std::vector<PieceBytes>& operands,
                      const std::vector<std::int64_t>& factors);

/// The type of partial results: that of the sums, or that of the result where it is wider.
[[nodiscard]] ir::DType partial_dtype(const ir::Op& op, ir::DType stored);

}  // namespace elk::emulate
