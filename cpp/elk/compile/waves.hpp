#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/chip/chip.hpp"
#include "elk/compile/compile.hpp"
#include "elk/ir/graph.hpp"
#include "elk/ir/waves.hpp"
#include "elk/shard/one_chip.hpp"

namespace elk::compile {

/// Shares of all SRAM.
struct SramShares {
  double op;    // what an op touches at most
  double rest;  // what it reads and what rests beside it, together

  friend bool operator==(const SramShares&, const SramShares&) = default;
};

/// `parts` with ops that touch too much in waves, and with as much spilled that the rest fits;
/// nothing where that takes over `most` ops.
[[nodiscard]] std::optional<ir::WaveGraph> fitted(const ir::WaveGraph& parts,
                                                  const chip::Chip& machine, SramShares shares,
                                                  std::size_t most);

/// `graph` in so many slices of its batch, as far as ops go along it; nothing where none does, or
/// that takes too many slices or ops.
[[nodiscard]] std::optional<ir::WaveGraph> in_slices(const ir::Graph& graph,
                                                     const chip::Chip& machine,
                                                     std::int64_t slices);

/// Whether SRAM holds what an op touches, if it is cut as finely as parallel axes allow.
[[nodiscard]] bool may_fit_in_waves(const ir::Graph& graph, const chip::Chip& machine);

/// Whether the results that live beside each other exceed all SRAM.
[[nodiscard]] bool overflows(const ir::Graph& graph, const chip::Chip& machine);

/// Whether an op with the activations that live beside it takes more than a quarter of all SRAM.
[[nodiscard]] bool is_crowded(const ir::Graph& graph, const chip::Chip& machine);

/// Seconds that the HBM takes to read all weights once for each of `slices`, and all states.
[[nodiscard]] Seconds least_in_slices(const ir::Graph& graph, const chip::Chip& machine,
                                      std::int64_t slices);

/// What one chip computes under `waves`, if it computes `one` without them.
[[nodiscard]] shard::OneChip in_parts(const shard::OneChip& one, const ir::WaveGraph& waves);

/// A graph that is not split over chips, as what one machine computes.
[[nodiscard]] shard::OneChip unsplit(const ir::Graph& graph);

/// A graph to be planned on one machine.
struct PlanRequest {
  const ir::Graph& graph;
  const shard::OneChip* one;  // whose graph it is; null: of all cores as one machine
};

/// Says in `plan` what of the model runs, and where; `waves`: null without.
void run_as(const PlanRequest& whole, const ir::WaveGraph* waves, Plan& plan);

}  // namespace elk::compile
