#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/chip/chip.hpp"
#include "elk/partition/layout/overlaps.hpp"
#include "elk/partition/layout/piece.hpp"

namespace elk::partition {

/// Elements that the busiest core sends when cores come to hold what they need. `overlaps` are
/// those of each dimension.
///
/// A core sends what it holds and other cores need: once for all of its own chip and once for all
/// others where the chip multicasts, else once for each of them. Cores that hold equal pieces take
/// turns, those of a receiver's own chip first. What needs a box of a piece are the cores whose
/// sets have it in every dimension: cores are taken to need all combinations of sets.
///
/// What a core sends at most will do as an answer where it is no more than `enough`.
[[nodiscard]] std::int64_t most_sent(const Pieces& held, const Pieces& needed,
                                     Table<DimId, Overlaps>& overlaps, std::int64_t enough,
                                     const chip::Chip& chip);

}  // namespace elk::partition
