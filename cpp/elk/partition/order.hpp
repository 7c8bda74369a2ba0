#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"

namespace elk::partition {

/// All axes in the order that `core_order` gives the cut ones: parallel before the others, then
/// those along which most HBM bytes lie, so that a chip reads a run of them that no other needs.
[[nodiscard]] std::vector<AxisId> axis_order(const ir::Graph& graph, const ir::Op& op);

/// The mesh dimension of each axis, -1 where it is not cut or cores do not lie in lines; empty
/// where the cut axes do not fit the network, of which each takes a dimension of its own. Of the
/// ways in which several fit, the first that gives outer axes outer dimensions; one axis alone
/// takes the shortest dimension that is long enough.
[[nodiscard]] std::optional<Table<AxisId, std::int32_t>> mesh_dims(
    const std::vector<AxisId>& order, const Table<AxisId, std::int64_t>& factors,
    const chip::Network& machine);

/// How far apart in core ids neighbouring places along each cut axis are, 0 for other axes.
[[nodiscard]] Table<AxisId, std::int64_t> strides(const Table<AxisId, std::int64_t>& factors,
                                                  const std::vector<AxisId>& order,
                                                  const Table<AxisId, std::int32_t>& mesh_dims,
                                                  const chip::Chip& chip);

}  // namespace elk::partition
