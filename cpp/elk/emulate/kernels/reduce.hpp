#pragma once

#include <string_view>

#include "elk/emulate/kernels/kernel_call.hpp"

namespace elk::emulate {

/// Whether there is a kernel for the function of a Reduce or Pool op.
[[nodiscard]] bool has_reduction(const ir::Op& op);

/// What a Reduce or Pool makes of the ranges of a tile, before `finish`.
[[nodiscard]] Numbers reduced(const KernelCall& tile);

}  // namespace elk::emulate
