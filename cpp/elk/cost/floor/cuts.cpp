#include "elk/cost/floor/cuts.hpp"

#include <algorithm>
#include <cstddef>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/cost/exchange/cost_tuning.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/plan.hpp"

namespace elk::cost {
namespace {

std::int64_t count_from(const Factors& factors, AxisId axis, std::int64_t cores,
                        std::int64_t most) {
  const Table<AxisId, std::int64_t>& here = factors[axis];
  if ((axis + 1).index() == factors.size()) {
    return std::upper_bound(here.begin(), here.end(), cores) - here.begin();
  }
  std::int64_t sum = 0;
  for (AxisId i{0}; i.index() < here.size() && here[i] <= cores && sum <= most; ++i) {
    sum += count_from(factors, axis + 1, cores / here[i], most - sum);
  }
  return sum;
}

Table<AxisId, std::int64_t> spaced(const Table<AxisId, std::int64_t>& factors, std::int64_t size,
                                   double ratio) {
  const auto padded = [size](std::int64_t factor) { return factor * ceil_div(size, factor); };
  Table<AxisId, std::int64_t> result{factors.front()};
  double next = 0.0;  // from which the next step begins
  for (AxisId i{1}; i.index() < factors.size(); ++i) {
    if (static_cast<double>(factors[i]) >= next) {
      result.push_back(factors[i]);
      next = static_cast<double>(factors[i]) * ratio;
    } else if (padded(factors[i]) <= padded(result.back())) {
      result.back() = factors[i];
    }
  }
  return result;
}

}  // namespace

Factors all_factors(const ir::Op& op, std::int64_t cores) {
  Factors result;
  for (const AxisId axis : op.axes.ids()) {
    const bool divisible = partition::divisible(op, axis);
    result.push_back(partition::distinct_factors(op.axes[axis].size, divisible ? cores : 1));
  }
  return result;
}

std::int64_t count_cuts(const Factors& factors, std::int64_t cores, std::int64_t most) {
  return factors.empty() ? 1 : count_from(factors, AxisId{0}, cores, most);
}

Factors spaced_factors(const ir::Op& op, const Factors& all, std::int64_t cores) {
  Factors kept = all;
  for (double ratio = tuning::kCoarser;
       count_cuts(kept, cores, tuning::kSpacedCuts) > tuning::kSpacedCuts;
       ratio *= tuning::kCoarser) {
    for (const AxisId axis : all.ids()) {
      kept[axis] = spaced(all[axis], op.axes[axis].size, ratio);
    }
  }
  return kept;
}

}  // namespace elk::cost
