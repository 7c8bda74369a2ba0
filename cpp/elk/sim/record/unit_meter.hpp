#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "elk/base/intervals.hpp"
#include "elk/sim/play/demand.hpp"
#include "elk/sim/record/recording.hpp"

namespace elk::sim {

/// What the resources for one purpose did, in bins of time.
struct PurposeBins {
  std::vector<double> amount;            // bytes of all of them, times weights; of memories
  std::vector<double> busiest;           // of the busiest: its bytes over what it could carry
  std::vector<std::int32_t> busiest_is;  // a resource; -1: none did anything
};

/// What the units of a machine did, in bins of time that lie side by side.
struct UnitBins {
  std::vector<double> hbm;       // bytes read and written over all chips
  std::vector<double> received;  // bytes that all cores received; of an exchange even over it
  std::vector<double> matrix;    // core seconds of kernels of products and convolutions
  std::vector<double> vector;    // core seconds of other kernels
  std::vector<double> other;     // core seconds of calls that add up or copy what arrived
  std::array<PurposeBins, kPurposes> purposes;
  std::vector<double> carried;  // bytes by each resource, times weights, over all bins
  std::vector<double> busy;     // seconds of each resource with anything on it
};

/// What units do in `bins` equal parts of `time`, in picoseconds, as a recording is played. Of
/// fidelity `Core` all rates are those of the player; of `Symmetric` core seconds are even within a
/// stage. Throws InvalidInput for a time of no length, and for none or more than `kMostBins` bins.
[[nodiscard]] UnitBins units(const Recording& recording, Interval<double> time, std::int64_t bins);

inline constexpr std::int64_t kMostBins = 1'000'000;

}  // namespace elk::sim
