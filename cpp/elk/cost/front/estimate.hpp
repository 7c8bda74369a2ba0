#pragma once

#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/tile/tile.hpp"

namespace elk::cost {

/// What a plan takes alone.
struct Estimate {
  Seconds time;
  Seconds exchange;  // in which the ports of its cores carry its own data
};

/// About what a fast plan of `op` takes alone, activations gathered, on a grid from nearby, where
/// whole spaces are too many to search: of cuts met on the way from one core to all, the fastest
/// that fits.
///
/// Each step doubles the factor of one axis, that which leaves the fastest plan; on a grid every
/// two axes are laid out over its rows and columns instead. Then, from the best so far, one axis is
/// cut half as often and another more, as long as that helps. Nothing rotates. Where no cut fits
/// the cores' SRAM, the fastest of all.
[[nodiscard]] Estimate estimate(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
                                const tile::TileModel& tiles);

}  // namespace elk::cost
