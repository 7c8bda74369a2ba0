#pragma once

#include "elk/chip/chip.hpp"
#include "elk/compile/compile.hpp"
#include "elk/ir/graph.hpp"
#include "elk/tile/tile.hpp"

namespace elk::compile {

/// The forecast of compilers that see the SRAM of all cores as one memory (T10 2.2), as Roller
/// does: every tensor lies evenly over all cores, and an op runs in rounds, in each of which every
/// core loads its pieces of all operands, computes, and stores its piece of the result. For each op
/// the fastest cut and number of rounds that fit beside all weights and live activations. Throws
/// Infeasible where an op fits in no way, and InvalidInput for a chip with HBM or given plans.
///
/// The cores of a pod are one machine. Bounds are not filled.
[[nodiscard]] Plan vgm(const ir::Graph& graph, const chip::Chip& chip, const tile::TileModel& tiles,
                       const Options& options);

}  // namespace elk::compile
