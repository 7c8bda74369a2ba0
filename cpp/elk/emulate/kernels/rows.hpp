#pragma once

#include "elk/emulate/kernels/kernel_call.hpp"

namespace elk::emulate {

/// Whether there is a kernel for the function of a Softmax or Norm op.
[[nodiscard]] bool has_row_function(const ir::Op& op);

/// A scan of whole rows, and the first k of each sorted row with their positions.
[[nodiscard]] Numbers scanned(const KernelCall& tile);
[[nodiscard]] std::vector<Numbers> top_k(const KernelCall& tile);

}  // namespace elk::emulate
