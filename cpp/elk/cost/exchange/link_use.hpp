#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "elk/chip/chip.hpp"

namespace elk::cost {

/// Regions of a grid: the links of one direction in one part of their lines, a quarter where there
/// are two dimensions.
inline constexpr std::size_t kRegions = 16;

/// How busy an exchange or a preload keeps the busiest link of every region, in 255ths of the
/// busiest of all: data enter at the edges, where exchanges carry least, so that the two may hardly
/// meet. Where links are not counted, all regions are as busy as the busiest.
struct LinkUse {
  std::array<std::uint8_t, kRegions> region;

  friend bool operator==(const LinkUse&, const LinkUse&) = default;
};
inline constexpr std::uint8_t kBusiest = 255;
inline constexpr LinkUse kEverywhere = [] {
  LinkUse all{};
  all.region.fill(kBusiest);
  return all;
}();

/// From the loads of all links of one chip or more, in the order of `LinkLoads::loads`.
[[nodiscard]] LinkUse link_use(std::span<const std::int64_t> loads, const chip::Chip& chip,
                               std::int64_t chips);

/// What two phases after each other keep busy: the mean over the time `wire` of each.
struct PhaseUse {
  LinkUse use;
  double wire;
};
[[nodiscard]] LinkUse mean_use(const PhaseUse& first, const PhaseUse& second);

}  // namespace elk::cost
