#pragma once

#include <cstdint>
#include <vector>

#include "elk/program/code/spaces.hpp"
#include "elk/program/expand/transfers.hpp"

namespace elk::program {

/// Steps of a collective's link phase that are alike; every chip does the same in them.
struct Crossing {
  std::int64_t steps;
  std::int64_t sent;  // bytes that a chip sends in a step, and receives
  std::int64_t chip;  // over its links, each way: what it passes on for others included
  std::int64_t port;  // in and out of a core with a port

  friend bool operator==(const Crossing&, const Crossing&) = default;
};

/// What a collective does after its gather (partition/collective.hpp), seen from one chip.
struct Collective {
  std::vector<Crossing> crossings;
  std::int64_t links;  // that the farthest message of a step passes
  Cores ports;
  std::int64_t addends;   // that a core adds up: two at a time in a ring, else all at once
  std::int64_t elements;  // of each
  bool ring;
  Exchange deliver;  // from ports to the cores beside them
};
[[nodiscard]] Collective collective(const PlacedOp& placed);

/// Adds to the gather of a collective what cores hand to the port beside them.
void add_collection(const PlacedOp& placed, Exchange& gather);

}  // namespace elk::program
