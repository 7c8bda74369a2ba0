#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"

namespace elk::partition {

/// Cores as rows and columns: chips stand below each other, a ring is one row. Core id = row * cols
/// + col, and a chip is a run of neighbouring ids.
struct Grid {
  std::int64_t rows;
  std::int64_t cols;
};
[[nodiscard]] Grid grid_of(const chip::Chip& chip);

/// All axes in the order that `core_order` gives the cut ones: parallel before the others, then
/// those along which most HBM bytes lie, so that a chip reads a run of them that no other needs.
[[nodiscard]] std::vector<std::int32_t> axis_order(const ir::Graph& graph, const ir::Op& op);

/// The mesh dimension of each axis, -1 where it is not cut or the chip is no grid; empty where the
/// cut axes do not fit the grid. The outer of two axes takes the rows if both then fit; one axis
/// alone takes the shorter side that is long enough.
[[nodiscard]] std::optional<std::vector<std::int32_t>> mesh_dims(
    const std::vector<std::int32_t>& order, const std::vector<std::int64_t>& factors,
    const chip::Chip& chip);

/// How far apart in core ids neighbouring places along each cut axis are, 0 for other axes.
[[nodiscard]] std::vector<std::int64_t> strides(const std::vector<std::int64_t>& factors,
                                                const std::vector<std::int32_t>& order,
                                                const std::vector<std::int32_t>& mesh_dims,
                                                const chip::Chip& chip);

}  // namespace elk::partition
