#pragma once

#include <cstddef>

/// The numbers by which `sim` was tuned: what each does, and how it was chosen. None is a rule of
/// the design or a limit of a type; a change of one changes no answer, only how long it takes.
namespace elk::sim::tuning {

// The agenda of events: a ladder queue, whose numbers change how long a run takes and never what it
// says.

/// Children of a node of the heap. Chosen by hand, not measured.
inline constexpr std::size_t kChildren = 4;

/// Items for which a heap alone is as quick. Measured by the benchmark of the bare engine.
inline constexpr std::size_t kFewItems = 32;

/// Buckets for each item: most then hold one or none. Measured by the benchmark of the bare engine.
inline constexpr std::size_t kBucketsAnItem = 4;

/// Buckets at most. Chosen by hand, not measured.
inline constexpr std::size_t kMostBuckets = 1 << 14;

// Shares of flows (docs/decisions/simulation.md).

/// Flows of a resource that are not worth to be looked at for those that have left. Chosen by hand,
/// not measured.
inline constexpr std::size_t kFewFlows = 16;

/// Rounds of repair after which all that is connected is opened. Chosen by hand, not measured.
inline constexpr int kMostRounds = 12;

}  // namespace elk::sim::tuning
