#pragma once

#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"

namespace elk::cost {

/// Share of the HBM's sequential rate that is left when bytes go in pieces of `run` contiguous
/// bytes at scattered addresses.
[[nodiscard]] double piece_efficiency(Bytes run);

/// Seconds to write `whole`, striped over every chip's HBM, in pieces of `run` contiguous bytes.
/// Zero on a chip without HBM.
[[nodiscard]] Seconds store_time(const chip::Chip& chip, Bytes whole, Bytes run);

}  // namespace elk::cost
