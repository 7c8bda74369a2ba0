#pragma once

#include <cstdint>
#include <span>

#include "elk/cost/tile_times.hpp"
#include "elk/ir/graph.hpp"

namespace elk::cost {

/// Whether an axis counts in the volume of a tile: whether it counts in its time.
[[nodiscard]] bool in_volume(const ir::Axis& axis);

/// The product of those of `size`.
[[nodiscard]] double volume(const ir::Op& op, std::span<const std::int64_t> size);

/// Seconds for each unit of volume that no tile of the op undercuts, as far as a sample of tiles
/// tells: the least in it, less a margin. Whoever relies on it checks every tile he times.
[[nodiscard]] double best_rate(const ir::Op& op, TileTimes& tiles);

}  // namespace elk::cost
