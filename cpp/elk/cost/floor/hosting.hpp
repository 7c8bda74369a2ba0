#pragma once

#include <vector>

#include "elk/base/units.hpp"
#include "elk/cost/floor/floor_search.hpp"
#include "elk/cost/floor/resting.hpp"
#include "elk/cost/floor/standing.hpp"
#include "elk/cost/price/pricer.hpp"

namespace elk::cost {

/// What a cut takes at least, told apart by what it means to preloads beside it. `least`: of the
/// cut; `turns`: whether an activation may rotate, so that it tells times of several steps.
[[nodiscard]] Hosting hosting(const Pricer& pricer, const Resting& resting, const Cut& cut,
                              const FloorSearch::Least& least, bool turns);

/// Adds to those that no other undercuts.
void keep(std::vector<Hosting>& kept, const Hosting& one);

}  // namespace elk::cost
