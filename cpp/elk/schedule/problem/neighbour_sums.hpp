#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/shelf.hpp"
#include "elk/base/table.hpp"
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
  std::vector<OpId> ops;
  Seconds time;
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
using KnownNeighbours = Shelf<NeighbourKey, NeighbourBound, NeighbourHash>;

}  // namespace elk::schedule
