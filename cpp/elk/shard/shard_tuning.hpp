#pragma once

#include <cstddef>

/// The numbers by which `shard` was tuned: what each does, and how it was chosen. None is a rule of
/// the design or a limit of a type; a change of one changes plans or how long it takes to find
/// them.
namespace elk::shard::tuning {

// Prices of kept bytes (decision 060).

/// Times that the price of a kept byte rises, each by eight, until what is kept fits. Chosen by
/// hand, not measured.
inline constexpr int kPriceRises = 12;

/// Times that a price which fits is then halved. Chosen by hand, not measured.
inline constexpr int kPriceHalvings = 4;

// Dynamic programming (decision 058).

/// States before an op that are kept. Chosen by hand, not measured.
inline constexpr std::size_t kMostSurvivors = 64;

}  // namespace elk::shard::tuning
