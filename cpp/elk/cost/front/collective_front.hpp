#pragma once

#include "elk/chip/chip.hpp"
#include "elk/cost/front/front.hpp"
#include "elk/ir/graph.hpp"
#include "elk/tile/tile.hpp"

namespace elk::cost {

/// The plans of a collective on the Pareto front of (space, time, exchange bytes). Constraints are
/// for the model's own operators. Of more than 2,000 cuts it looks at factors some steps apart; the
/// floor is that of every cut: what passes between chips, at the rate of all ports together.
[[nodiscard]] Front collective_front(const ir::Graph& graph, const ir::Op& op,
                                     const chip::Chip& chip, const tile::TileModel& tiles);

}  // namespace elk::cost
