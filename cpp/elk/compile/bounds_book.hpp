#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/compile/compile.hpp"
#include "elk/ir/graph.hpp"
#include "elk/schedule/problem/schedule.hpp"
#include "elk/tile/tile.hpp"

namespace elk::compile {

/// Every space of plans that one call looks at: a graph on a machine.
struct BoundsBook {
  std::vector<schedule::Bounds> bounds;  // known even where no schedule is found, as another policy
                                         // may find one
  bool wants_ideal;                      // the plan of the ideal, beside its time
  std::optional<Seconds> least;          // the ideal of all spaces in which a plan fits
  std::optional<Plan> ideal;             // the plan of that ideal, if it is wanted
};

/// A plan, and that of the ideal of its space.
struct PlanAndIdeal {
  Plan plan;
  std::shared_ptr<const Plan> ideal;
};

/// What the call returns of the best plan of all spaces: the plan, with the bounds of all of them,
/// or that of the ideal if it is wanted. The plan counts for its ideal with the lesser of its
/// forecast and of its simulated time on `pod`: where the ideal's rules made no more of any
/// choices, it is the ideal.
[[nodiscard]] Plan concluded(const ir::Graph& graph, const chip::Chip& pod,
                             const tile::TileModel& tiles, Plan plan, BoundsBook spaces,
                             Kept* kept);

}  // namespace elk::compile
