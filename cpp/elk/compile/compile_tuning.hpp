#pragma once

#include <array>
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

/// Shares of all SRAM that an op in waves touches at most, the largest first. Chosen by hand, not
/// measured.
inline constexpr std::array<double, 3> kOpShares{0.6, 0.4, 0.2};

/// Shares of all SRAM that an op takes at most together with what rests beside it. Chosen by hand,
/// not measured.
inline constexpr std::array<double, 2> kRestShares{0.75, 0.5};

/// Share of all SRAM above which an op, with the activations that live beside it, leaves little for
/// preloads or large plans, so that slices of the batch are tried. BERT-large of 8 x 512 tokens on
/// `wormhole-n300` is above it; the number was chosen by hand.
inline constexpr double kCrowded = 0.25;

/// Share of all SRAM up to which the inputs of slices rest on chip from the start. Those of
/// ResNet-50 with 32 images on `blackhole-p150` do, which gains 1.5 %; the number was chosen by
/// hand.
inline constexpr double kFewInputs = 1.0 / 16;

/// Slices at most: more read all weights too often. Chosen by hand, not measured.
inline constexpr std::int64_t kMostSlices = 32;

/// Ops in waves or slices at most where there is a plan already: more take long to plan. ResNet-50
/// in 16 slices has 1,937; the number was chosen by hand.
inline constexpr std::size_t kMostOpsInParts = 10'000;

/// Ops in waves or slices at most where nothing else fits. Llama2-7B reading 2,048 tokens on
/// `mtia-v2` has 37,581, whose plan takes a minute; the number was chosen by hand.
inline constexpr std::size_t kMostOpsAtAll = 40'000;

/// Ops of all graphs in slices that are tried for a model, and again of those in waves where
/// something fits without.
/// Chosen so that BERT-large of 8 x 512 tokens on `mtia-v2` compiles within a minute.
inline constexpr std::size_t kMostOpsTried = 80'000;

/// Numbers of slices that are planned: the fewest that fit need not be the fastest. Chosen by hand,
/// not measured.
inline constexpr int kSlicesTried = 2;

// Work that is kept (docs/decisions/schedule.md).

/// Bytes that the passes hold for each op, about: plans of policies, and how far their search is.
/// Estimated by hand.
inline constexpr std::size_t kBytesOfOp = std::size_t{32} << 10U;

}  // namespace elk::compile::tuning
