#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/cost/price/pricer.hpp"

namespace elk::cost {

/// Cuts into fewer pieces whose tiles take as long: kernels work in blocks, which small tiles do
/// not fill. Alone such a plan has nothing but more space, and no front keeps it; between
/// neighbours that are cut alike it gathers from fewer cores, in fewer fragments. For each axis
/// that `factors` cut, the fewest pieces of it with the others as they are; by axis.
[[nodiscard]] std::vector<Table<AxisId, std::int64_t>> coarser_cuts(
    Pricer& pricer, const Table<AxisId, std::int64_t>& factors);

}  // namespace elk::cost
