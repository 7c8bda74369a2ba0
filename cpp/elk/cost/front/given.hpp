#pragma once

#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/cost/front/front.hpp"
#include "elk/ir/graph.hpp"
#include "elk/partition/plan.hpp"
#include "elk/tile/tile.hpp"

namespace elk::cost {

/// Plans of an op that are handed in, valid and each fit for a core, at least one; and the front of
/// its whole space.
struct GivenSet {
  const std::vector<partition::ExecutePlan>& plans;
  const Front& searched;
};

/// The front of an op whose plans are handed in: all of them, priced, by time; none is compared
/// with another.
///
/// The floor is that of the op's whole space, in which the plans lie: bounds hold for any part of
/// it. Two things lie outside and lower it: steps shorter than the
/// shortest partition, which no search takes, and a collective on other cores than its rule says.
[[nodiscard]] Front given_front(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
                                const tile::TileModel& tiles, const GivenSet& given);

}  // namespace elk::cost
