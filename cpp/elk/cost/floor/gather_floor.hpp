#pragma once

#include <vector>

#include "elk/base/units.hpp"
#include "elk/cost/floor/activation_floor.hpp"
#include "elk/cost/floor/floor_search.hpp"
#include "elk/cost/floor/layout_floor.hpp"
#include "elk/cost/price/pricer.hpp"

namespace elk::cost {

/// What a cut takes at least, told apart by what it means to preloads beside it. `least`: of the
/// cut; `turns`: whether an activation may rotate, so that it tells times of several steps.
[[nodiscard]] GatherFloor gather_floor(const Pricer& pricer,
                                       const ActivationFloor& activation_floor, const Cut& cut,
                                       const FloorSearch::LeastTime& least, bool turns);

/// Adds to those that no other undercuts.
void keep(std::vector<GatherFloor>& kept, const GatherFloor& one);

}  // namespace elk::cost
