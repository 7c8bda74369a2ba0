#pragma once

#include <cstdint>
#include <vector>

#include "elk/program/code/spaces.hpp"
#include "elk/program/expand/transfers.hpp"

namespace elk::program {

/// Steps of a collective's link phase that are alike; every chip does the same in them.
struct CollectiveSteps {
  std::int64_t steps;
  std::int64_t sent;  // bytes that a chip sends in a step, and receives
  std::int64_t chip;  // over its links, each way: what it passes on for others included
  std::int64_t port;  // in and out of a core with a port

  friend bool operator==(const CollectiveSteps&, const CollectiveSteps&) = default;
};

/// What a collective does after its gather (partition/collective.hpp), seen from one chip.
struct CollectiveMoves {
  std::vector<CollectiveSteps> crossings;
  std::int64_t links;  // passed by the farthest message of a step
  Cores ports;
  std::int64_t addends;   // added up by a core: two at a time in a ring, else all at once
  std::int64_t elements;  // of each
  bool ring;
  Exchange deliver;  // from ports to the cores beside them
};
[[nodiscard]] CollectiveMoves collective(const PlacedOp& placed);

/// Adds to the gather of a collective what cores hand to the port beside them.
void add_collection(const PlacedOp& placed, Exchange& gather);

}  // namespace elk::program
