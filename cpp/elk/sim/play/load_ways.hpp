#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/program/expand/loading.hpp"

namespace elk::sim {

/// What goes to or comes from one core or, with multicast, goes to all cores of a piece.
struct LoadingWay {
  std::int64_t bytes;
  program::Cores cores;
};

/// The ways of a preload or store, by operand and chip.
[[nodiscard]] std::map<std::pair<std::int32_t, std::int32_t>, std::vector<LoadingWay>> load_ways(
    const program::Loading& loading, bool multicast);

/// The node of every module that each of `ways` starts from or ends at, as chip::entry_nodes has
/// them.
[[nodiscard]] std::vector<std::vector<std::int32_t>> way_nodes(const std::vector<LoadingWay>& ways,
                                                               const chip::Chip& chip);

}  // namespace elk::sim
