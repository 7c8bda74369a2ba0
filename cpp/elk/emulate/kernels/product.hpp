#pragma once

#include "elk/emulate/kernels/kernel_call.hpp"

namespace elk::emulate {

/// The sum of products of MatMul, Conv and DepthwiseConv over the ranges of a tile.
[[nodiscard]] Numbers product(const KernelCall& tile);

}  // namespace elk::emulate
