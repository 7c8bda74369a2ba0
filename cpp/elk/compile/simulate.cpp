#include "elk/compile/simulate.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/compile/compile_tuning.hpp"
#include "elk/compile/kept.hpp"
#include "elk/sim/play/executor.hpp"
#include "elk/sim/tasks/flow_run.hpp"
#include "elk/tile/times.hpp"

namespace elk::compile {

namespace {

/// Times of calls, for the use of one thread.
sim::CallTimes times(const ir::Graph& graph, const chip::Chip& chip, const tile::TileModel& tiles) {
  const auto known = std::make_shared<std::unordered_map<std::int32_t, tile::TileTimes>>();
  const auto of = [&graph, &chip, &tiles, known](OpId op) -> tile::TileTimes& {
    return known->try_emplace(op.value, graph, graph.ops[op], chip, tiles).first->second;
  };
  return {
      .sub_task =
          [of](OpId op, TableView<AxisId, const std::int64_t> size) {
            return to_picoseconds({of(op).sub_task(size)});
          },
      .add = [of](OpId op, std::int64_t parts,
                  std::int64_t elements) { return to_picoseconds({of(op).add(parts, elements)}); },
      .copy = [of](OpId op, std::int64_t slices, std::int64_t run,
                   std::int64_t bits) { return to_picoseconds({of(op).copy(slices, run, bits)}); }};
}

void keep(sim::Simulation& how, const chip::Chip& chip, Kept* kept) {
  if (kept != nullptr) {
    how.kept = &kept->executions();
    how.machine = machine_key(chip);
    how.memory = memory_key(chip);
  }
}

/// By what is kept of other programs, if anything is.
std::vector<sim::Run> simulated(const ir::Graph& graph, const chip::Chip& chip,
                                std::span<const program::Program* const> programs,
                                const tile::TileModel& tiles, sim::Simulation how, Kept* kept) {
  ir::validate(graph);
  keep(how, chip, kept);
  return sim::simulate(graph, chip, programs, [&] { return times(graph, chip, tiles); }, how);
}

}  // namespace

sim::Fidelity fidelity(const chip::Chip& pod) {
  const std::int64_t most = chip::routed(pod) ? tuning::kMostNodes : tuning::kMostPlayed;
  return chip::total_cores(pod) <= most ? sim::Fidelity::Core : sim::Fidelity::Symmetric;
}

sim::Run simulate(const ir::Graph& graph, const chip::Chip& chip, const program::Program& program,
                  const tile::TileModel& tiles, sim::Fidelity fidelity, Kept* kept) {
  if (kept != nullptr) {
    const std::array<const program::Program*, 1> alone{&program};
    return simulated(graph, chip, alone, tiles, {.fidelity = fidelity, .threads = 1}, kept).front();
  }
  ir::validate(graph);
  return sim::simulate(graph, chip, program, times(graph, chip, tiles), fidelity);
}

sim::Recording record(const ir::Graph& graph, const chip::Chip& chip,
                      const program::Program& program, const tile::TileModel& tiles,
                      sim::Fidelity fidelity, Kept* kept) {
  ir::validate(graph);
  sim::Simulation how{.fidelity = fidelity, .threads = 1};
  keep(how, chip, kept);
  return sim::fold(sim::record(graph, chip, program, times(graph, chip, tiles), how), chip);
}

sim::Run simulate_flows(const ir::Graph& graph, const chip::Chip& chip,
                        const program::Program& program, const tile::TileModel& tiles,
                        sim::Links links) {
  ir::validate(graph);
  return sim::simulate_flows(graph, chip, program, times(graph, chip, tiles), links);
}

std::vector<sim::Run> simulate_alike(const ir::Graph& graph, const chip::Chip& chip,
                                     std::span<const program::Program* const> programs,
                                     const tile::TileModel& tiles, int threads, Kept* kept) {
  return simulated(graph, chip, programs, tiles,
                   {.fidelity = sim::Fidelity::Symmetric, .threads = threads}, kept);
}

}  // namespace elk::compile
