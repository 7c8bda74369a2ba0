#pragma once

#include <cstdint>

#include "elk/emulate/machine/operands.hpp"

namespace elk::emulate {

/// Brings the op's own slices of its HBM operands into its preload buffers.
void preload(const Operands& operands);
/// Fills the buffers that keep HBM operands on a chip without HBM.
void load_residents(const Operands& operands);
/// Spreads a graph input over all cores in equal shares.
void spread_input(ChipState& machine, std::int32_t tensor);

/// Brings activations to where the op needs them.
void gather(const Operands& operands);
/// Brings the rest of preloaded pieces from the peers that received them.
void distribute(const Operands& operands);
/// Passes on what rotates after a step, if anything does.
void shift(const Operands& operands, std::int64_t step);

}  // namespace elk::emulate
