#pragma once

#include <cstddef>
#include <cstdint>

/// The numbers by which `cost` was tuned: what each does, and how it was chosen. None is a rule of
/// the design or a limit of a type; a change of one changes plans or how long it takes to find
/// them.
namespace elk::cost::tuning {

// Floors.

/// Cuts of an op up to which a grid of factors is not made coarser. ResNet-50 took 100 s where
/// every cut was looked at (docs/decisions/operator.md); the number was chosen by hand.
inline constexpr std::int64_t kSpacedCuts = 2000;

/// By how much a grid of factors is made coarser at a time. Chosen by hand, not measured.
inline constexpr double kCoarser = 1.01;

/// Cuts of an op up to which those are listed that trade time for room. Chosen by hand, not
/// measured.
inline constexpr std::int64_t kMostHeld = 100'000;

/// Times of the fastest cut that a listed one takes at most. Chosen by hand, not measured.
inline constexpr double kLonger = 1.15;

/// Part of the room of a core that is little. Chosen by hand, not measured.
inline constexpr std::int64_t kLittle = 20;

/// Cuts of an op up to which it stands in a tree of the lower bound. Takes in the larger MatMuls of
/// DiT from batch 16 on.
inline constexpr std::int64_t kMostCuts = 100'000;

/// Fragments that an exchange may cost more than its least. Chosen by hand, not measured.
inline constexpr double kFragments = 200.0;

/// Times the floor up to which cuts of an op in no tree are listed. Chosen by hand, not measured.
inline constexpr double kAlone = 20.0;

/// Times the floor up to which cuts are listed that copy less. Chosen by hand, not measured.
inline constexpr double kFewerCopies = 1.5;

// Fronts (docs/decisions/operator.md).

/// Cuts of an op from which its front is thinned. Chosen by hand, not measured.
inline constexpr std::int64_t kThinned = 2048;

/// Cuts from which the space of an op is vast. Chosen by hand, not measured.
inline constexpr std::int64_t kVast = 40000;

/// Combinations of turns that are tried under one cut. Chosen by hand, not measured.
inline constexpr std::int64_t kMostCombinations = 1 << 12;

/// Combinations of turns that are tried under one cut of a vast space. ResNet-50 compiles in three
/// quarters of the time.
inline constexpr std::int64_t kFewCombinations = 32;

/// Part of all cores from which a cut counts as one of many. Chosen by hand, not measured.
inline constexpr double kManyCores = 0.85;

/// Cuts that are looked at near the front. ResNet-50's plan stays the same within 1e-5 when the
/// walk ends there.
inline constexpr std::size_t kMostNear = 2000;

/// Cuts and groups of a vast space that are surveyed, to one that is looked at closely. Chosen by
/// hand, not measured.
inline constexpr std::int64_t kSurveyed = 25;

/// Rounds in which an estimate trades factors between axes. Chosen by hand, not measured.
inline constexpr int kTradeRounds = 8;

/// Cuts that are priced for energy, about. Chosen by hand, not measured.
inline constexpr std::int64_t kThriftyCuts = 600;

/// Plans of an op that are added because they take less energy. Chosen by hand, not measured.
inline constexpr std::size_t kMostThrifty = 12;

/// Of the joules of the next faster plan that is kept, what a slower one takes at most. Chosen by
/// hand, not measured.
inline constexpr double kSaved = 0.99;

// Prices.

/// Ways for some operands of an op to wait for its execute that are kept when the next is added.
/// The models at hand have 384 at most; an elementwise op that reads 16 tensors from HBM had over
/// 20,000.
inline constexpr std::size_t kMostPartialStates = 400;

/// Combinations of turns that are gone through where plans are counted. Chosen by hand, not
/// measured.
inline constexpr std::int64_t kMostListed = 1'000'000;

}  // namespace elk::cost::tuning
