#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/graph.hpp"

namespace elk::cost {

/// For each axis the factors that it is cut by.
using Factors = Table<AxisId, std::vector<std::int64_t>>;

/// All distinct ones.
[[nodiscard]] Factors all_factors(const ir::Op& op, std::int64_t cores);

/// Cuts into at most `cores` pieces; counts no further than past `most`.
[[nodiscard]] std::int64_t count_cuts(const Factors& factors, std::int64_t cores,
                                      std::int64_t most);

/// Of `all`, factors in steps of a ratio, the least for which few enough cuts are left to look at
/// each; of those within a step, the one that pads least. An axis may always stay whole.
[[nodiscard]] Factors spaced_factors(const ir::Op& op, const Factors& all, std::int64_t cores);

}  // namespace elk::cost
