#pragma once

#include <cstdint>

#include "elk/chip/chip.hpp"
#include "elk/partition/layout/piece.hpp"

namespace elk::partition {

/// Elements that pass between chips when cores come to hold what they need.
struct InterChipTraffic {
  std::int64_t most_in = 0;   // into the busiest chip
  std::int64_t most_out = 0;  // out of the busiest chip
};

/// What cores of a chip need and none of them holds goes there once, from the chips that hold it,
/// evenly.
///
/// What the cores of a chip hold or need is a few boxes: one for each run of cores that counts
/// through one cut axis with all places of the axes further in. Where operands turn together, whose
/// places add up, the box around such a run stands for it; and the box around a whole chip does
/// where the ends of boxes would cut the tensor into more than 2^16 parts, or beyond 64 chips.
[[nodiscard]] InterChipTraffic crossing(const Pieces& held, const Pieces& needed,
                                        const chip::Chip& chip);

}  // namespace elk::partition
