#include "elk/cost/front/vicinity.hpp"

#include <algorithm>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"

namespace elk::cost {

Vicinity::FactorNumbers Vicinity::places(TableView<AxisId, const std::int64_t> cut) const {
  FactorNumbers result;
  for (const AxisId axis : cut.ids()) {
    const std::vector<std::int64_t>& all = all_[axis];
    result.push_back(static_cast<std::size_t>(std::lower_bound(all.begin(), all.end(), cut[axis]) -
                                              all.begin()));
  }
  return result;
}

void Vicinity::meet(const FactorNumbers& places, std::vector<Table<AxisId, std::int64_t>>& cuts) {
  Table<AxisId, std::int64_t> cut;
  std::int64_t product = 1;
  bool visited = true;
  for (const AxisId axis : places.ids()) {
    cut.push_back(all_[axis][places[axis]]);
    product *= cut.back();
    visited =
        visited && std::binary_search(visited_[axis].begin(), visited_[axis].end(), cut.back());
  }
  if (product <= cores_ && !visited && met_.insert(places).second) {
    cuts.push_back(std::move(cut));
  }
}

std::vector<Table<AxisId, std::int64_t>> Vicinity::around(
    TableView<AxisId, const std::int64_t> cut) {
  std::vector<Table<AxisId, std::int64_t>> cuts;
  FactorNumbers at = places(cut);
  if (!asked_.insert(at).second) {
    return cuts;
  }
  for (const AxisId down : at.ids()) {
    if (at[down] > 0) {
      --at[down];
      meet(at, cuts);
      ++at[down];
    }
  }
  for (const AxisId up : at.ids()) {
    if (at[up] + 1 == all_[up].size()) {
      continue;
    }
    ++at[up];
    meet(at, cuts);
    for (const AxisId down : at.ids()) {
      if (down != up && at[down] > 0) {
        --at[down];
        meet(at, cuts);
        ++at[down];
      }
    }
    --at[up];
  }
  return cuts;
}

}  // namespace elk::cost
