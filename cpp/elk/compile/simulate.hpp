#pragma once

#include <span>
#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/program/code/code.hpp"
#include "elk/sim/play/run.hpp"
#include "elk/sim/record/recording.hpp"
#include "elk/sim/tasks/plain_transfers.hpp"
#include "elk/tile/tile.hpp"

namespace elk::compile {

class Kept;

/// How far to tell cores apart where nothing else is asked for: as far as it takes no longer than a
/// plan's search.
[[nodiscard]] sim::Fidelity fidelity(const chip::Chip& pod);

/// Runs a program on the simulator, its calls timed by a tile model. Where chips share the model,
/// `chip` is `chip::one_of` the pod: every chip does the same. What is kept of other programs is
/// not worked out again; `kept` may be null.
[[nodiscard]] sim::Run simulate(const ir::Graph& graph, const chip::Chip& chip,
                                const program::Program& program, const tile::TileModel& tiles,
                                sim::Fidelity fidelity, Kept* kept = nullptr);

/// What `simulate` plays, to be played again without graph, chip and tile model.
[[nodiscard]] sim::Recording record(const ir::Graph& graph, const chip::Chip& chip,
                                    const program::Program& program, const tile::TileModel& tiles,
                                    sim::Fidelity fidelity, Kept* kept = nullptr);

/// Runs a program with every send a flow of its own, as `simulate` otherwise.
[[nodiscard]] sim::Run simulate_flows(const ir::Graph& graph, const chip::Chip& chip,
                                      const program::Program& program, const tile::TileModel& tiles,
                                      sim::Links links);

/// Runs several programs of a graph, resources of a kind loaded as the busiest.
[[nodiscard]] std::vector<sim::Run> simulate_alike(
    const ir::Graph& graph, const chip::Chip& chip,
    std::span<const program::Program* const> programs, const tile::TileModel& tiles, int threads,
    Kept* kept = nullptr);

}  // namespace elk::compile
