#pragma once

#include <cstddef>
#include <cstdint>

/// The numbers by which `program` was tuned: what each does, and how it was chosen. None is a rule
/// of the design or a limit of a type; a change of one changes plans or how long it takes to find
/// them.
namespace elk::program::tuning {

// Placement (docs/decisions/schedule.md).

/// Moments of a ring at most: beyond, there is little to gain. Chosen by hand, not measured.
inline constexpr std::int32_t kLongestRing = 512;

/// Rings of more and more periods that are tried. Rings beyond the fourth never fitted in the
/// models at hand.
inline constexpr std::int32_t kRings = 4;

/// Neighbours that a ring goes through at most. A million are some 25 ms.
inline constexpr std::int64_t kRingWork = 150'000;

/// Pieces of a strip above which one that repeats is not laid out whole. Whole programs of more
/// pieces never fitted in the models at hand.
inline constexpr std::size_t kLongStrip = 1000;

/// Periods of a long strip that repeats up to which it is laid out whole all the same. Four slices
/// of ResNet-50 fit so on `h100`; the number was chosen by hand.
inline constexpr std::int32_t kFewPeriods = 8;

/// Part of the room below which what is left over makes no second attempt worth while. Chosen by
/// hand, not measured.
inline constexpr std::int64_t kTight = 20;

/// Neighbours that a strip goes through at most. A million are some 25 ms.
inline constexpr std::int64_t kStripWork = 700'000;

// Expansion.

/// Cores that send parts of a box which lies on all of them. Chosen by hand, not measured.
inline constexpr std::int64_t kMostSources = 32;

}  // namespace elk::program::tuning
