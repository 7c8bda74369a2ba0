#include "elk/sim/play/work.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/partition/call.hpp"
#include "elk/partition/plan.hpp"
#include "elk/sim/network/hbm.hpp"
#include "elk/sim/play/together.hpp"

namespace elk::sim {
namespace {

bool moves_anything(const Demand& demand) { return demand.kinds.size() > 1; }

}  // namespace

StageLowering::StageLowering(const chip::Chip& chip, Demands& demands, const CallTimes& tiles)
    : chip_(chip), demands_(demands), tiles_(tiles) {}

/// Puts the stages of one execute together.
struct StageLowering::ExecuteBuilder {
  StageLowering& works;
  std::int32_t op;
  const program::Execution& execution;
  ExecuteStages out;

  [[nodiscard]] Picoseconds sync(const Demand& demand) const {
    const chip::Chip& chip = works.chip_;
    const bool wide = chip.inter_chip && (execution.wide || demand.crosses);
    return to_latency(wide ? chip.inter_chip->sync_latency : chip.interconnect.sync_latency);
  }

  static Stage stage(PhaseKind kind, Demand demand) {
    return {.kind = kind,
            .sync = {0},
            .exposed = {0},
            .core_time = {0.0},
            .asks = std::make_shared<const Demand>(std::move(demand))};
  }

  void count(const Demand& demand, std::int64_t times) {
    out.totals.received += demand.received * times;
    out.totals.hops += demand.hop_bytes * times;
    out.totals.between += demand.chip_bytes * times;
  }

  /// Adds an exchange, unless it moves nothing; returns the bytes of its busiest core.
  Bytes exchange(PhaseKind kind, const program::Exchange& exchange, const StageSends& origin) {
    Demand demand = works.demands_.of(exchange);
    if (!moves_anything(demand)) {
      return {0};
    }
    count(demand, 1);
    out.received += kind == PhaseKind::Distribute ? Bytes{0} : demand.most_received;
    const Bytes busiest = demand.busiest;
    const Picoseconds synced = sync(demand);
    out.stages.push_back(stage(kind, std::move(demand)));
    out.stages.back().sync = synced;
    out.stages.back().origin = origin;
    return busiest;
  }

  /// A call that takes every core of the execute this time.
  Stage everywhere(Picoseconds time) {
    const std::vector<Picoseconds> alone(execution.tiles.size(), time);
    return stage(PhaseKind::Compute, works.demands_.of(execution.tiles, alone));
  }

  /// Where a tile at the edge takes longer than a full one, its core pads it: it has the room.
  [[nodiscard]] std::vector<Picoseconds> calls() const {
    std::vector<std::int64_t> full = execution.tiles.front().size;
    for (const program::Tiles& tiles : execution.tiles) {
      for (std::size_t axis = 0; axis < full.size(); ++axis) {
        full[axis] = std::max(full[axis], tiles.size[axis]);
      }
    }
    const Picoseconds padded = works.tiles_.sub_task(op, full);
    std::vector<Picoseconds> alone;
    alone.reserve(execution.tiles.size());
    for (const program::Tiles& tiles : execution.tiles) {
      alone.push_back(std::min(padded, works.tiles_.sub_task(op, tiles.size)));
    }
    return alone;
  }

  void steps() {
    const std::vector<Picoseconds> alone = calls();
    Stage compute = stage(PhaseKind::Compute, works.demands_.of(execution.tiles, alone));
    for (std::size_t i = 0; i < alone.size(); ++i) {
      const program::Tiles& tiles = execution.tiles[i];
      compute.core_time += to_seconds(alone[i]) * static_cast<double>(tiles.cores.size());
    }
    out.totals.vector_s += compute.core_time.value * static_cast<double>(execution.steps);
    std::vector<std::vector<Stage>> shifts;
    shifts.reserve(execution.rotations.size());
    for (std::size_t i = 0; i < execution.rotations.size(); ++i) {
      shifts.push_back(shift(i));
    }
    std::map<std::vector<std::size_t>, Stage> hidden;
    for (std::int64_t step = 1; step <= execution.steps; ++step) {
      std::vector<std::size_t> moving;
      for (std::size_t i = 0; i < execution.rotations.size() && step < execution.steps; ++i) {
        if (step % execution.rotations[i].every == 0) {
          moving.push_back(i);
        }
      }
      if (works.chip_.interconnect.overlaps_compute && !moving.empty()) {
        out.stages.push_back(overlapped(compute, shifts, moving, hidden));
        continue;
      }
      out.stages.push_back(compute);
      for (const std::size_t i : moving) {
        out.stages.insert(out.stages.end(), shifts[i].begin(), shifts[i].end());
      }
    }
    count_shifts(shifts);
  }

  /// The shift of rotation number `i`: its syncs and bytes, then the copy into place.
  std::vector<Stage> shift(std::size_t i) {
    const program::RotationExchange& rotation = execution.rotations[i];
    Demand demand = works.demands_.of(rotation.exchange);
    const Picoseconds synced = sync(demand) * rotation.chunks;
    std::vector<Stage> stages{stage(PhaseKind::Shift, std::move(demand))};
    stages.front().sync = synced;
    stages.front().origin = {.sending = SendKind::Shift, .numbers = {i}};
    if (!works.chip_.interconnect.native_shift) {
      const Picoseconds once = works.tiles_.copy(op, rotation.slices, rotation.run, rotation.bits);
      stages.push_back(everywhere(once * rotation.chunks));
    }
    return stages;
  }

  /// A step during which what rotates moves on: the chip exchanges while it computes.
  static Stage overlapped(const Stage& compute, const std::vector<std::vector<Stage>>& shifts,
                          const std::vector<std::size_t>& moving,
                          std::map<std::vector<std::size_t>, Stage>& known) {
    const auto found = known.find(moving);
    if (found != known.end()) {
      return found->second;
    }
    Demand moved;
    Picoseconds all{0};
    for (const std::size_t i : moving) {
      Demand next = shifts[i].front().demand();
      Picoseconds lag = shifts[i].front().sync;
      for (std::size_t more = 1; more < shifts[i].size(); ++more) {
        lag += alone(shifts[i][more].demand());
      }
      next.latency += lag;
      all += lag;
      moved = i == moving.front() ? next : together(moved, next);
    }
    for (ResourceLoad& load : moved.kinds) {
      load.tail += moved.latency;
    }
    moved.latency = {0};
    Stage one = stage(PhaseKind::Compute, beside(compute.demand(), moved));
    one.exposed = alone(one.demand()) - alone(compute.demand());
    one.core_time = compute.core_time;
    one.origin = {.sending = SendKind::Shift, .numbers = moving, .lag = all};
    return known.emplace(moving, std::move(one)).first->second;
  }

  void count_shifts(const std::vector<std::vector<Stage>>& shifts) {
    for (std::size_t i = 0; i < shifts.size(); ++i) {
      const std::int64_t times = ((execution.steps - 1) / execution.rotations[i].every);
      count(shifts[i].front().demand(), times);
      out.received += shifts[i].front().demand().most_received * times;
      out.exchange += shifts[i].front().demand().busiest * times;
    }
  }

  /// The link phase of a collective, the adds, and what ports hand on.
  void cross() {
    const program::CollectiveMoves& moves = *execution.collective;
    for (std::size_t i = 0; i < moves.crossings.size(); ++i) {
      const program::CollectiveSteps& crossing = moves.crossings[i];
      Demand demand = works.demands_.of(crossing, moves);
      count(demand, crossing.steps);
      out.received += demand.most_received * crossing.steps;
      out.exchange += demand.busiest * crossing.steps;
      const Picoseconds synced = sync(demand);
      Stage one = stage(PhaseKind::Shift, std::move(demand));
      one.sync = synced;
      one.origin = {.sending = SendKind::Crossing, .numbers = {i}};
      out.stages.insert(out.stages.end(), static_cast<std::size_t>(crossing.steps), one);
    }
    if (moves.addends > 0) {
      const std::int64_t at_once = moves.ring ? 2 : moves.addends + 1;
      const std::int64_t times = moves.ring ? moves.addends : 1;
      const Stage add = everywhere(works.tiles_.add(op, at_once, moves.elements));
      out.stages.insert(out.stages.end(), static_cast<std::size_t>(times), add);
    }
    out.exchange += exchange(PhaseKind::Reduce, moves.deliver, {.sending = SendKind::Deliver});
  }

  void reductions() {
    for (std::size_t i = 0; i < execution.reduce.size(); ++i) {
      const program::ReductionRound& round = execution.reduce[i];
      out.exchange +=
          exchange(PhaseKind::Reduce, round.exchange, {.sending = SendKind::Round, .numbers = {i}});
      out.stages.push_back(everywhere(works.tiles_.add(op, round.parts, round.elements)));
    }
  }
};

ExecuteStages StageLowering::of(std::int32_t op, const ir::Graph& graph,
                                const program::Execution& execution) {
  ExecuteBuilder builder{.works = *this, .op = op, .execution = execution, .out = {}};
  builder.out.distribute = builder.exchange(PhaseKind::Distribute, execution.distribute,
                                            {.sending = SendKind::Distribute});
  builder.out.exchange =
      builder.exchange(PhaseKind::Gather, execution.gather, {.sending = SendKind::Gather});
  if (execution.collective) {
    builder.cross();
  } else {
    builder.steps();
    builder.reductions();
  }
  const ir::Op& node = graph.ops[subscript(op)];
  for (const program::Tiles& tiles : execution.tiles) {
    const auto calls = static_cast<std::int64_t>(tiles.cores.size()) * execution.steps;
    auto share = static_cast<double>(calls);
    for (std::size_t axis = 0; axis < tiles.size.size(); ++axis) {
      share *= static_cast<double>(tiles.size[axis]) / static_cast<double>(node.axes[axis].size);
    }
    builder.out.totals.flops += static_cast<double>(node.flops) * share;
    builder.out.totals.operands += partition::call_bytes(graph, node, tiles.size) * calls;
  }
  return std::move(builder.out);
}

Demand StageLowering::load(const program::Loading& loading) {
  return demands_.of(loading, weight(loading));
}

std::int32_t StageLowering::weight(const program::Loading& loading) const {
  if (loading.run == 0 || !chip_.hbm) {
    return kHbmWeight;
  }
  const auto channels = static_cast<double>(chip_.hbm->modules * chip_.hbm->channels);
  return byte_weight(kHbm3ePieces, to_rate(chip_.hbm->rate / channels),
                     {.run = {loading.run}, .write_share = 1.0});
}

}  // namespace elk::sim
