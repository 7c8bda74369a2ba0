#pragma once

#include <cstdint>

#include "elk/base/ids.hpp"
#include "elk/emulate/machine/operands.hpp"

namespace elk::emulate {

/// Brings the op's own slices of weights and states to where they wait for its execute.
void preload(const Operands& operands);
/// Spreads over all cores, in equal shares, a graph input or what else lies evenly.
void spread(ChipState& machine, TensorId tensor);

/// Brings activations, and what lies evenly over all cores, to where the op needs them.
void gather(const Operands& operands);
/// Brings the rest of preloaded pieces from the peers that received them.
void distribute(const Operands& operands);
/// Passes on what rotates after a step, if anything does.
void shift(const Operands& operands, std::int64_t step);

}  // namespace elk::emulate
