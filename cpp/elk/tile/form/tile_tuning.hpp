#pragma once

#include <cstdint>

/// The numbers by which `tile` was tuned: what each does, and how it was chosen. None is a rule of
/// the design or a limit of a type; a change of one changes what is fitted or how long it takes.
namespace elk::tile::tuning {

// Least rates of tiles.

/// Tiles are timed by blocks of this many: whole ones are cheapest. Chosen by hand, not measured.
inline constexpr std::int64_t kBlock = 16;

/// Random tiles that are tried against the least rates. Chosen by hand, not measured.
inline constexpr int kTrials = 1500;

/// Splits over time of a random tile that are tried. Chosen by hand, not measured.
inline constexpr int kRateSplits = 2;

/// Tried turns below which nothing is said of turning. A quarter of the trials, chosen by hand.
inline constexpr int kFewTurns = tuning::kTrials / 4;

/// Steps into which a tried tile is split at most. Chosen by hand, not measured.
inline constexpr std::int64_t kMostPaces = 8;

/// Part of a sampled rate that is counted on. Chosen by hand, not measured.
inline constexpr double kRateSlack = 0.95;

// Fits.

/// Turns in which rows choose their families and these are fitted again. Chosen by hand, not
/// measured.
inline constexpr int kFamilyTurns = 6;

/// Turns in which families are loosened that are too dear. Chosen by hand, not measured.
inline constexpr int kLoosenTurns = 6;

/// Times what a row takes from which a family is too dear for it. Chosen by hand, not measured.
inline constexpr double kTooDear = 1.03;

/// Times the least error of validation up to which a range beyond the rows counts as no worse.
/// Chosen by hand, not measured.
inline constexpr double kHardlyMore = 1.01;

/// Times the largest size of its rows at which a family has to have grown, along every axis. Chosen
/// by hand, not measured.
inline constexpr std::int64_t kBeyondRange = 16;

/// Size of a tile along an axis up to which it is asked whether a family grows. Chosen by hand, not
/// measured.
inline constexpr std::int64_t kWideRange = 1 << 16;

}  // namespace elk::tile::tuning
