#pragma once

#include "elk/emulate/kernels/kernel_call.hpp"

namespace elk::emulate {

/// Whether there is a function for an elementwise op.
[[nodiscard]] bool has_function(const ir::Graph& graph, const ir::Op& op);

[[nodiscard]] Numbers elementwise(const KernelCall& tile);

}  // namespace elk::emulate
