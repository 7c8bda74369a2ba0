#pragma once

#include "elk/emulate/machine/operands.hpp"

namespace elk::emulate {

/// Every core receives its part of the tile from all others that share it, adds, and finishes.
void reduce_scatter(const Operands& operands);

}  // namespace elk::emulate
