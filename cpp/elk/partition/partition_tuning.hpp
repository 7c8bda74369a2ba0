#pragma once

#include <cstddef>
#include <cstdint>

/// The numbers by which `partition` was tuned: what each does, and how it was chosen. None is a
/// rule of the design or a limit of a type; a change of one changes plans or how long it takes to
/// find them.
namespace elk::partition::tuning {

// Boxes and layouts.

/// Boxes of an extent above which the largest is estimated from above. Chosen by hand, not
/// measured.
inline constexpr std::int64_t kMostBoxes = 4096;

/// Parts of layouts up to which what crosses chips is counted part by part. Chosen by hand, not
/// measured.
inline constexpr std::size_t kMostParts = std::size_t{1} << 16U;

/// Chips up to which what crosses them is counted part by part. Chosen by hand, not measured.
inline constexpr std::int64_t kMostChips = 64;

/// Keys for which a table is kept, for each core. Chosen by hand, not measured.
inline constexpr std::size_t kMostKeys = 8;

}  // namespace elk::partition::tuning
