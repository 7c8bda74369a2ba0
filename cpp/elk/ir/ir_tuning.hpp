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

}  // namespace elk::ir::tuning
