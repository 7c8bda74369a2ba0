#pragma once

#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/tile/tile.hpp"

namespace elk::shard {

/// About how long a pod takes as one machine, whose plans span chips: as an estimate of a sharding,
/// one op after another, each the longer of its execute over the cores of all chips
/// (`cost::estimate`) and of its HBM bytes, read on one chip or another.
[[nodiscard]] Picoseconds pooled_time(const ir::Graph& graph, const chip::Chip& chip,
                                      const tile::TileModel& tiles, int threads);

}  // namespace elk::shard
