#include "elk/cost/front/vicinity.hpp"

#include <algorithm>
#include <utility>

namespace elk::cost {

Vicinity::FactorNumbers Vicinity::places(std::span<const std::int64_t> cut) const {
  FactorNumbers result;
  for (std::size_t axis = 0; axis < cut.size(); ++axis) {
    const std::vector<std::int64_t>& all = all_[axis];
    result.push_back(static_cast<std::size_t>(std::lower_bound(all.begin(), all.end(), cut[axis]) -
                                              all.begin()));
  }
  return result;
}

void Vicinity::meet(const FactorNumbers& places, std::vector<std::vector<std::int64_t>>& cuts) {
  std::vector<std::int64_t> cut;
  std::int64_t product = 1;
  bool visited = true;
  for (std::size_t axis = 0; axis < places.size(); ++axis) {
    cut.push_back(all_[axis][places[axis]]);
    product *= cut.back();
    visited =
        visited && std::binary_search(visited_[axis].begin(), visited_[axis].end(), cut.back());
  }
  if (product <= cores_ && !visited && met_.insert(places).second) {
    cuts.push_back(std::move(cut));
  }
}

std::vector<std::vector<std::int64_t>> Vicinity::around(std::span<const std::int64_t> cut) {
  std::vector<std::vector<std::int64_t>> cuts;
  FactorNumbers at = places(cut);
  if (!asked_.insert(at).second) {
    return cuts;
  }
  for (std::size_t down = 0; down < at.size(); ++down) {
    if (at[down] > 0) {
      --at[down];
      meet(at, cuts);
      ++at[down];
    }
  }
  for (std::size_t up = 0; up < at.size(); ++up) {
    if (at[up] + 1 == all_[up].size()) {
      continue;
    }
    ++at[up];
    meet(at, cuts);
    for (std::size_t down = 0; down < at.size(); ++down) {
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
