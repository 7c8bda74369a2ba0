#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/sim/flows/engine.hpp"
#include "elk/sim/network/machine_network.hpp"
#include "elk/sim/play/demand.hpp"

namespace elk::sim {

inline constexpr ResourceLoad kNothing{.amount = 0, .tail = {0}, .rate = {1}, .computes = false};

/// What every resource of a network is for.
[[nodiscard]] std::vector<Purpose> purposes_of(const MachineNetwork& network,
                                               const chip::Chip& chip);

/// Where resources for one purpose lie.
[[nodiscard]] std::vector<ResourceRange> ranges_of(std::span<const Purpose> purposes);

/// What is being counted, resource by resource.
struct ResourceSums {
  std::vector<std::int64_t>& amount;  // zero but for purposes that are `touched`
  std::vector<Picoseconds> tail;      // empty: none has one
  Demand about;
  bool computes = false;
  std::array<bool, kPurposes> touched{};

  void touch(std::initializer_list<Purpose> purposes) {
    for (const Purpose purpose : purposes) {
      touched[static_cast<std::size_t>(purpose)] = true;
    }
  }
};

/// The demand of every resource, equal ones together.
[[nodiscard]] Demand list(const ResourceSums& sums, const Machine& machine);

/// The demand of one resource for every purpose, loaded as the busiest of them.
[[nodiscard]] Demand fold(const ResourceSums& sums, std::span<const ResourceRange> ranges,
                          const Machine& machine);

}  // namespace elk::sim
