#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

/// The numbers by which `schedule` was tuned: what each does, and how it was chosen. None is a rule
/// of the design or a limit of a type; a change of one changes plans or how long it takes to find
/// them.
namespace elk::schedule::tuning {

// Grids: what is counted link by link.

/// Cores of a grid up to which forecasts count every exchange link by link. Beyond, counting would
/// take a compile minutes (docs/decisions/pods.md).
inline constexpr std::int64_t kMostCounted = 8192;

/// Cores up to which every exchange is counted, not only those that cross chips. With 130, a
/// compile takes 15 % longer.
inline constexpr std::int64_t kFewCores = 128;

/// Pairs of cores that a gather counted link by link goes through in about the time in which an op
/// is forecast. Measured when searches began to pay for pairs of cores.
inline constexpr std::int64_t kPairsAnOp = 368;

// Issue of preloads.

/// Preloads that wait for their executes at most. A model of many small ops would fill SRAM with
/// thousands, at no gain, and their placement would take quadratic time
/// (docs/decisions/schedule.md). Growth measured on chains of up to 100,000 ops; the number itself
/// was chosen by hand.
inline constexpr std::size_t kMostWaiting = 128;

// Bounds.

/// Weights of the contention bound are multiples of one part in this many. Chosen by hand, not
/// measured.
inline constexpr int kWeightGrid = 16;

/// Prices of a second of a preload that the contention bound tries, below and above the share of
/// the HBM. Chosen by hand, not measured.
inline constexpr int kPreloadPrices = 32;

/// Means that the contention bound tries of what a preload takes of ports and of the HBM. Chosen by
/// hand, not measured.
inline constexpr int kPortMeans = 8;

/// By how much neighbours could lift the bound of contention if they are worth a look. Chosen by
/// hand, not measured.
inline constexpr double kMostOfNeighbours = 1.03;

/// Products after one that it is held against in the bound of pairs. Chosen by hand, not measured.
inline constexpr std::size_t kPairsReach = 3;

/// Times that the ops between two may take longer than at least, tried in this order. Chosen by
/// hand, not measured.
inline constexpr std::array<double, 6> kPairSlacks = {8.0, 4.0, 2.0, 1.0, 0.5, 0.1};

/// What trees of ops add, about, to what ops take. Chosen by hand, not measured.
inline constexpr double kTreesAdd = 0.03;

/// Ops after an execute whose preloads are held against it. Chosen by hand, not measured.
inline constexpr std::size_t kSramReach = 128;

// Alignment and polishing.

/// Plans below one part in this many of the room may grow up to it when they are aligned. Chosen by
/// hand, not measured.
inline constexpr std::int64_t kSmallShare = 32;

/// Plans of the front that are tried beside a neighbour. Chosen by hand, not measured.
inline constexpr std::size_t kNearest = 4;

/// Steps of a staircase of plans that are tried. Chosen by hand, not measured.
inline constexpr std::size_t kMostStairs = 6;

/// Cuts that are carried along a model. Chosen by hand, not measured.
inline constexpr std::size_t kCarriedCuts = 32;

/// Cores of a layout that are priced in about the time of one op in a forecast. Measured when
/// layouts became quicker to price.
inline constexpr std::int64_t kPricedCores = 6;

// Annealing (docs/decisions/schedule.md).

/// Times what a move may cost now above which it is not worth a forecast. Chosen by hand, not
/// measured.
inline constexpr double kFarAbove = 8.0;

/// Of all moves, those that change a plan. Chosen by hand, not measured.
inline constexpr double kPlanMoves = 0.76;

/// Of all moves, those that change the order; the rest change how far ahead preloads are issued.
/// Chosen by hand, not measured.
inline constexpr double kOrderMoves = 0.12;

/// Least chance of a move to be taken. Chosen by hand, not measured.
inline constexpr double kLeastChance = 1e-6;

/// Places of the order that a preload goes at once, at most. Chosen by hand, not measured.
inline constexpr std::int64_t kFurthest = 3;

/// Ops of a forecast, about, that it takes to price a plan which follows another. Chosen by hand,
/// not measured.
inline constexpr std::int64_t kPricedOps = 200;

/// Heavy preloads of a layer that orders permute, at most. Chosen by hand, not measured.
inline constexpr std::size_t kMostHeavy = 64;

/// Ops of a layer above which a sketch shows five layers in place of eight. Chosen for Gemma2,
/// whose period of 150 ops left four moves a place on a sketch of eight.
inline constexpr std::int32_t kLongLayer = 100;

// Policies.

/// Splits of the room between executes and preloads that Static tries. Chosen by hand, not
/// measured.
inline constexpr std::int64_t kSplitsTried = 64;

/// Splits that one thread times after another at most. Chosen by hand, not measured.
inline constexpr std::size_t kSplitsInARow = 8;

/// Splits that are forecast again between neighbours. Chosen by hand, not measured.
inline constexpr std::size_t kSplitsKept = 3;

/// Proposals that are polished, as long as there is work left. Chosen by hand, not measured.
inline constexpr std::size_t kPolished = 16;

/// Work that polishing may take, in ops that are timed. Chosen by hand, not measured.
inline constexpr std::int64_t kPolish = 1'500'000;

/// Work that polishing may take on grids, where the cut of one op costs others more. Chosen by
/// hand, not measured.
inline constexpr std::int64_t kPolishOnGrid = 2 * tuning::kPolish;

/// Work that polishing may take without HBM, where proposals differ more. Chosen by hand.
inline constexpr std::int64_t kPolishAtRest = 4 * tuning::kPolish;

/// Parts of the room that chains from the best start leave unused: buffers in whole ranges of
/// addresses need more than their sum (docs/decisions/schedule.md). Chosen by hand.
inline constexpr std::array<std::int64_t, 3> kLeftFree = {0, 3, 7};

/// What moves of a chain may cost at first, of the mean time of a place. Chosen by hand, not
/// measured.
inline constexpr double kWarm = 0.1;

/// Work that polishing for energy may take, in ops that are timed. Chosen by hand, not measured.
inline constexpr std::int64_t kEconomyWork = 6'000'000;

/// Moves compared after which the layer in hand stands for those before it, though the state may
/// still change from layer to layer: times are then guesses, plans and capacity stay sound. Chosen
/// by hand, not measured.
inline constexpr std::int64_t kInductionWork = 4'000'000;

/// Parts of the room, of which there are `kPartsOfRoom`, that are left unused one after another
/// until everything fits. Chosen by hand, not measured.
inline constexpr std::array<std::int64_t, 8> kUnusedParts = {0, 1, 2, 4, 7, 11, 16, 24};

/// Parts of the room. Chosen by hand, not measured.
inline constexpr std::int64_t kPartsOfRoom = 64;

/// By how much links that were not counted have to lengthen a schedule to be worth another search.
/// Chosen by hand, not measured.
inline constexpr double kMisled = 1.01;

/// Proposals of a policy that are counted again, until one is as short as it seemed. Chosen by
/// hand, not measured.
inline constexpr int kMostRecounts = 2;

/// Searches beyond those of less effort, by effort. Chosen by hand, not measured.
inline constexpr std::array<int, 3> kSearchesAgain = {0, 1, 7};

}  // namespace elk::schedule::tuning
