#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elk/sim/play/demand.hpp"

namespace elk::sim {

/// Resources that two demands load alike: what an execute wants of them, and a preload or store.
struct Meeting {
  Wide left;           // of the execute: grains; of a computation, what its port moves meanwhile
  Wide speed;          // of the resource, grains in a picosecond
  std::int64_t other;  // what the preload or store wants of it in all
  Picoseconds tail;
  bool flows;  // whether the execute moves bytes there, rather than computes

  friend bool operator==(const Meeting&, const Meeting&) = default;
};

/// Where the resources of a machine stand: which of the meetings each belongs to.
struct Meetings {
  std::vector<Meeting> all;
  std::vector<std::int32_t> of;  // of every resource
};

/// What an execute's demand and a preload's or store's have in common; resources that neither loads
/// are left out (-1).
[[nodiscard]] Meetings meet(const Demand& execute, const Demand& load);

/// The meetings in the middle of the execute's demand, once another preload or store follows.
[[nodiscard]] Meetings meet_again(const Meetings& before, const Demand& load);

}  // namespace elk::sim
