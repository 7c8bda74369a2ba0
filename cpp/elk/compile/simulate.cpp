#include "elk/compile/simulate.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/cost/tile_times.hpp"
#include "elk/sim/executor.hpp"

namespace elk::compile {

sim::Run simulate(const ir::Graph& graph, const chip::Chip& chip, const program::Program& program,
                  const cost::TileModel& tiles, sim::Fidelity fidelity) {
  ir::validate(graph);
  std::vector<std::unique_ptr<cost::TileTimes>> times(graph.ops.size());
  const auto of = [&](std::int32_t op) -> cost::TileTimes& {
    std::unique_ptr<cost::TileTimes>& known = times[static_cast<std::size_t>(op)];
    if (!known) {
      known = std::make_unique<cost::TileTimes>(graph, graph.ops[static_cast<std::size_t>(op)],
                                                chip, tiles);
    }
    return *known;
  };
  const sim::TileTimes calls{
      .sub_task =
          [&](std::int32_t op, std::span<const std::int64_t> size) {
            return to_picoseconds({of(op).sub_task(size)});
          },
      .add = [&](std::int32_t op, std::int64_t parts,
                 std::int64_t elements) { return to_picoseconds({of(op).add(parts, elements)}); },
      .copy = [&](std::int32_t op, std::int64_t slices, std::int64_t run,
                  std::int64_t bits) { return to_picoseconds({of(op).copy(slices, run, bits)}); }};
  return sim::simulate(graph, chip, program, calls, fidelity);
}

}  // namespace elk::compile
