#pragma once

#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/compile/compile.hpp"
#include "elk/ir/graph.hpp"
#include "elk/schedule/policies/search.hpp"
#include "elk/tile/tile.hpp"

namespace elk::compile {

/// Simulated times, resources of a kind loaded as the busiest. `kept` may be null.
[[nodiscard]] schedule::Judge judge(const ir::Graph& graph, const chip::Chip& chip,
                                    const tile::TileModel& tiles, int threads, Kept* kept);

/// Between forecasts of different graphs or machines this far apart, no simulation is needed.
inline constexpr double kFarApart = 1.5;

/// A plan and what runs it.
struct Rival {
  const ir::Graph& graph;  // what is planned
  const chip::Chip& chip;
  Plan& plan;
};

/// Whether `plan` serves better than `best`: by what they were aimed at; else by simulation, unless
/// their forecasts are too far apart for it to turn them round. Leaves in them how long they take.
[[nodiscard]] bool beats(const Rival& best, const Rival& plan, const tile::TileModel& tiles,
                         const Options& options);

/// Whether `plan` of `graph` serves better than `best` on a pod, whose chips may share the model.
[[nodiscard]] bool beats(const ir::Graph& graph, const chip::Chip& pod,
                         const tile::TileModel& tiles, const Options& options, Plan& best,
                         Plan& plan);

}  // namespace elk::compile
