#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "elk/base/shelf.hpp"
#include "elk/base/units.hpp"
#include "elk/cost/floor/layout_floor.hpp"
#include "elk/schedule/problem/key.hpp"

namespace elk::schedule {

/// What is added up: times of executes, or of those with exchanges spread over all ports, and then
/// of ops alone that compute little, for what others need of ports and HBM they may need least with
/// another cut than the one that is best beside their neighbours.
enum class NeighbourSum : std::uint8_t { Executes, Ports };

/// What some ops take at least together, because an activation between two of them lies in one way.
struct NeighbourBound {
  std::vector<std::int32_t> ops;
  Seconds time;
};

/// A bound of neighbours, and the factors of a cut of each op with which executes take it; empty
/// where the cuts of an op are not known, or it had better take one of those that are not listed.
struct NeighbourCuts {
  NeighbourBound bound;
  std::vector<std::vector<std::int64_t>> cuts;
};

/// What counts of the seconds by which a cut of an op takes longer than `least`, and of those in
/// which it fetches: what goes beyond `free` of the former, and `most` of each.
struct ExtraTime {
  double least;
  double free = 0.0;
  double most = std::numeric_limits<double>::infinity();

  [[nodiscard]] double of_cut(double time) const {
    const double beyond = std::max(0.0, time - least - free);
    return std::min(time, least + std::min(beyond, most));
  }
  [[nodiscard]] double of_fetch(double time) const { return std::min(time, most); }

  friend bool operator==(const ExtraTime&, const ExtraTime&) = default;
};

/// Times that count instead of those of executes (`gather_bound`).
struct GatherTimes {
  struct CutSeconds {
    double least;
    double whole;              // in one step
    cost::TimeOfSteps turned;  // in several
  };
  std::vector<std::size_t> kind_of;            // of each op; ops of a kind have one front
  std::vector<std::vector<CutSeconds>> times;  // of each kind: of each cut of its front, or none
  double still;   // what a second counts in which an op fetches, and no data pass
  double uneven;  // what one counts by which its busiest core takes longer than all do together
};

/// All that it depends on. What is known of a front goes by where it is kept: an op's is worked out
/// once for all rates of the HBM, and held by whoever has it for a key.
struct NeighbourKey {
  NeighbourSum summed;
  std::vector<std::shared_ptr<const cost::LayoutFloor>> fronts;
  std::vector<std::int32_t> front_of;  // of each op, -1: it is left out
  std::vector<std::int32_t> makers;    // of what each reads, -1: none that counts
  std::vector<ExtraTime> extra;        // of each op; none: all counts

  friend bool operator==(const NeighbourKey&, const NeighbourKey&) = default;
};

/// By how ops hang together, which few models have in common.
struct NeighbourHash {
  std::size_t operator()(const NeighbourKey& key) const {
    return (KeyHash{}(key.front_of) * 31U) + KeyHash{}(key.makers);
  }
};

/// Kept from one compile to the next.
using KnownNeighbours = Shelf<NeighbourKey, std::shared_ptr<const NeighbourCuts>, NeighbourHash>;

}  // namespace elk::schedule
