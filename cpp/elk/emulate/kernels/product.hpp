#pragma once

#include "elk/emulate/kernels/tile.hpp"

namespace elk::emulate {

/// The sum of products of MatMul, Conv and DepthwiseConv over the ranges of a tile.
[[nodiscard]] Numbers product(const Tile& tile);

}  // namespace elk::emulate
