#pragma once

#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/program/code/code.hpp"
#include "elk/sim/play/call_times.hpp"
#include "elk/sim/play/run.hpp"
#include "elk/sim/tasks/plain_transfers.hpp"

namespace elk::sim {

/// Runs a program with every send of an exchange, and every piece of a preload or store, a flow of
/// its own (`ProgramLowering`). No port is kept busy by anything but the flows that cross it, and a
/// computation runs at what they leave of the SRAM port of its core.
///
/// Throws InvalidInput for a program that waits for a preload it never issues.
[[nodiscard]] Run simulate_flows(const ir::Graph& graph, const chip::Chip& chip,
                                 const program::Program& program, const CallTimes& tiles,
                                 Links links = Links::Shared);

}  // namespace elk::sim
