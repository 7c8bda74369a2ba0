#pragma once

#include <cstddef>

/// The numbers by which `ir` was tuned: what each does, and how it was chosen. None is a rule of
/// the design or a limit of a type; a change of one changes plans or how long it takes to find
/// them.
namespace elk::ir::tuning {

// Repeats and chains.

/// Occurrences of one class of ops whose distances are tried as periods. Chosen by hand, not
/// measured.
inline constexpr std::size_t kDistances = 8;

/// Periods that are tried, the most frequent distances first. Chosen by hand, not measured.
inline constexpr std::size_t kPeriods = 128;

/// Ops behind the first within which a chain of waves ends. Chosen by hand, not measured.
inline constexpr std::size_t kChainSpan = 64;

/// Parts of one tensor that an op reads as so many operands at most: of more it reads the whole
/// tensor from HBM, where the parts are stored. Chosen by hand, not measured.
inline constexpr std::size_t kMostParts = 4;

// Cuts of ops that touch too much (docs/decisions/schedule.md).

/// Times that a graph is cut at most: every time along one axis of an op. Chosen by hand, not
/// measured.
inline constexpr int kCutRounds = 6;

/// Share of all SRAM that waves may touch besides what they divide, before another axis is better.
/// Chosen by hand, not measured.
inline constexpr double kMostFixed = 0.6;

/// Share of all SRAM that a wave touches at least of what waves divide, beside much that they do
/// not. Chosen by hand, not measured.
inline constexpr double kLeastAlong = 0.12;

/// Share of what an op touches that waves may leave: above it an axis frees too little. Chosen by
/// hand, not measured.
inline constexpr double kMostLeft = 0.85;

/// Share of all SRAM above which a tensor is expected to be spilled. Chosen by hand, not measured.
inline constexpr double kLarge = 0.25;

}  // namespace elk::ir::tuning
