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

/// What resources of one kind are for.
inline constexpr std::int32_t kSram = 0;
inline constexpr std::int32_t kReceive = 1;
inline constexpr std::int32_t kSend = 2;
inline constexpr std::int32_t kLink = 3;
inline constexpr std::int32_t kMemory = 4;
inline constexpr std::int32_t kOut = 5;
inline constexpr std::int32_t kIn = 6;
inline constexpr std::int32_t kBetween = 7;  // on a ring or mesh of chips
inline constexpr std::int32_t kEntry = 8;    // on a grid, from and to memory modules
inline constexpr std::int32_t kPort = 9;     // of nodes that have fewer of them than links
inline constexpr std::int32_t kTypes = 10;

inline constexpr ResourceLoad kNothing{.amount = 0, .tail = {0}, .rate = {1}, .computes = false};

/// What every resource of a network is for.
[[nodiscard]] std::vector<std::int32_t> types_of(const MachineNetwork& network,
                                                 const chip::Chip& chip);

/// Where resources of one kind lie, by their types.
[[nodiscard]] std::vector<ResourceRange> ranges_of(std::span<const std::int32_t> types);

/// What is being counted, resource by resource.
struct ResourceSums {
  std::vector<std::int64_t>& amount;  // zero but for kinds that are `touched`
  std::vector<Picoseconds> tail;      // empty: none has one
  Demand about;
  bool computes = false;
  std::array<bool, kTypes> touched{};

  void touch(std::initializer_list<std::int32_t> types) {
    for (const std::int32_t type : types) {
      touched[subscript(type)] = true;
    }
  }
};

/// The demand of every resource, equal ones together.
[[nodiscard]] Demand list(const ResourceSums& sums, const Machine& machine);

/// The demand of one resource of every type, loaded as the busiest of them.
[[nodiscard]] Demand fold(const ResourceSums& sums, std::span<const ResourceRange> ranges,
                          const Machine& machine);

}  // namespace elk::sim
