#pragma once

#include <cstddef>
#include <cstdint>

/// The numbers by which `compile` was tuned: what each does, and how it was chosen. None is a rule
/// of the design or a limit of a type; a change of one changes plans or how long it takes to find
/// them.
namespace elk::compile::tuning {

// Fronts and searches.

/// Close looks at the vast spaces of a model, all together (docs/decisions/operator.md). Grown by a
/// twelfth so that DiT's projection of heads ends within it.
inline constexpr std::int64_t kLooks = 85'000;

/// Work of the ideal's own search, in ops that are timed. Chosen by hand, not measured.
inline constexpr std::int64_t kIdealWork = 200'000;

/// Times that forecasts of different graphs or machines are apart from which no simulation is
/// needed. Chosen by hand, not measured.
inline constexpr double kFarApart = 1.5;

/// Cores of the largest machines that are played core by core. Chosen by hand, not measured.
inline constexpr std::int64_t kMostPlayed = 10'000;

/// Nodes of the largest grids that are played core by core: every send takes its way there. Chosen
/// by hand, not measured.
inline constexpr std::int64_t kMostNodes = 256;

// Shardings (docs/decisions/pods.md).

/// Times that the estimate of a sharding may be above its plan. Chosen by hand, not measured.
inline constexpr double kOverestimate = 1.5;

/// Times that the estimate of a pooled plan may be above that of the fastest sharding: both err
/// alike. Chosen by hand, not measured.
inline constexpr double kPooledOverestimate = 1.1;

/// Times that the pooled plan of the policy below it may be above a plan that the pooled plan of a
/// policy that takes effort may beat.
/// Chosen by hand, not measured.
inline constexpr double kImproved = 1.1;

// Waves (docs/decisions/schedule.md).

/// Share of all SRAM above which what an op reads from HBM is large: of two such ops in a row the
/// second has no room to be loaded beside the first. Two caches of half of all SRAM each, as those
/// of OPT-30B at batch 64, are above it; the number was chosen by hand.
inline constexpr double kLargeShare = 0.4;

/// Of all bytes read from HBM, those that large ops must read for waves to be worth a search.
/// Chosen by hand, not measured.
inline constexpr double kWorthwhile = 0.1;

/// Waves of an op at most: more of them read the parts of a tensor as more operands than a search
/// through their rotations can go through, and a chip so small leaves nothing to preload ahead. A
/// model twice as large as a chip still fits.
inline constexpr std::int64_t kMostWaves = 16;

/// Share of all SRAM above which an op, with the activations that live beside it, leaves little for
/// preloads or large plans, so that slices of the batch are tried. BERT-large of 8 x 512 tokens on
/// `wormhole-n300` is above it; the number was chosen by hand.
inline constexpr double kCrowded = 0.25;

/// Slices at most: more read all weights too often. Chosen by hand, not measured.
inline constexpr std::int64_t kMostSlices = 32;

/// Ops in slices at most: more take long to plan. ResNet-50 in 16 slices has 1,937; the number was
/// chosen by hand.
inline constexpr std::size_t kMostSlicedOps = 10'000;

/// Numbers of slices that are planned: the fewest that fit need not be the fastest. Chosen by hand,
/// not measured.
inline constexpr int kSlicesTried = 2;

// Work that is kept (docs/decisions/schedule.md).

/// Bytes that the passes hold for each op, about: plans of policies, and how far their search is.
/// Estimated by hand.
inline constexpr std::size_t kBytesOfOp = std::size_t{32} << 10U;

}  // namespace elk::compile::tuning
