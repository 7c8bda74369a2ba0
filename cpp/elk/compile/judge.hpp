#pragma once

#include <optional>

#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/compile/compile.hpp"
#include "elk/cost/tile.hpp"
#include "elk/ir/graph.hpp"
#include "elk/schedule/search.hpp"

namespace elk::compile {

/// Whether simulations decide between plans on a machine: of a grid of many nodes, each with links
/// of its own, one would take longer than the search.
[[nodiscard]] bool judges(const chip::Chip& chip);

/// Simulated times, resources of a kind loaded as the busiest; none where forecasts decide.
[[nodiscard]] schedule::Judge judge(const ir::Graph& graph, const chip::Chip& chip,
                                    const cost::TileModel& tiles, int threads);

/// What counts where plans compete, the less the better: what they were aimed at, or simulated
/// time, where that decides between schedules, too. `simulated`: if it is known.
[[nodiscard]] double judged(const ir::Graph& graph, const chip::Chip& chip,
                            const cost::TileModel& tiles, const Plan& plan,
                            const std::optional<Seconds>& simulated);

/// The same of a plan of `graph` on a pod, whose chips may share it.
[[nodiscard]] double judged(const ir::Graph& graph, const chip::Chip& pod,
                            const cost::TileModel& tiles, const Plan& plan);

}  // namespace elk::compile
