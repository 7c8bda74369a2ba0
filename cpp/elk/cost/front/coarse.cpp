#include "elk/cost/front/coarse.hpp"

#include <cstddef>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/enumerate.hpp"

namespace elk::cost {

std::vector<Table<AxisId, std::int64_t>> coarser_cuts(Pricer& pricer,
                                                      const Table<AxisId, std::int64_t>& factors) {
  const ir::Op& op = pricer.op();
  Table<AxisId, std::int64_t> tile;
  for (const AxisId axis : factors.ids()) {
    tile.push_back(ceil_div(op.axes[axis].size, factors[axis]));
  }
  const double time = pricer.tiles().sub_task(tile);
  std::vector<Table<AxisId, std::int64_t>> result;
  for (const AxisId axis : factors.ids()) {
    const std::int64_t size = op.axes[axis].size;
    for (const std::int64_t fewer : partition::distinct_factors(size, factors[axis] / 2)) {
      Table<AxisId, std::int64_t> larger = tile;
      larger[axis] = ceil_div(size, fewer);
      if (pricer.tiles().sub_task(larger) <= time) {
        result.push_back(factors);
        result.back()[axis] = fewer;
        break;
      }
    }
  }
  return result;
}

}  // namespace elk::cost
