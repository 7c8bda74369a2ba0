#pragma once

#include <cstdint>

/// Numbers that were chosen, not derived: what each does, and how it was chosen.
namespace elk::train::tuning {

/// Tasks up to which a simulation of training plays flows unless it is told otherwise: about a
/// second of CPU time. T-145B on palm-wafer with 21 micro-batches has 249,000 and takes 0.6 s.
inline constexpr std::int64_t kMostPlayedTasks = 400'000;

/// Micro-batches of a step at most: as many rows as tables and timelines bear for each stage.
inline constexpr std::int64_t kMostMicros = 1 << 20;

}  // namespace elk::train::tuning
