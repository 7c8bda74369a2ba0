#include "elk/schedule/problem/grid_exchanges.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/cost/price/pricer.hpp"
#include "elk/partition/core_needs.hpp"
#include "elk/program/expand/execution.hpp"
#include "elk/schedule/problem/grid.hpp"
#include "elk/schedule/problem/schedule_tuning.hpp"
#include "elk/tile/times.hpp"

namespace elk::schedule {
namespace {

/// A plan of an op, as the program carries it out.
struct PlacedPlan {
  const program::PlacedOp& placed;
  tile::TileTimes& times;
  bool wide;

  [[nodiscard]] cost::ExchangeCost of(const program::Exchange& exchange) const {
    return exchange_on_grid(exchange, placed.chip, wide);
  }

  static void add_after(cost::ExchangeCost& exchange, double seconds) {
    exchange.time.value += seconds;
    exchange.tail.value += seconds;
  }

  /// One shift: in chunks of the transfer buffer, each with a sync, then copied into place.
  [[nodiscard]] cost::ExchangeCost once(const program::RotationExchange& rotation) const {
    cost::ExchangeCost result = of(rotation.exchange);
    const bool crosses = wide || result.crossing.value > 0;
    const auto chunks = static_cast<double>(rotation.chunks);
    result.time += cost::Fabric(placed.chip).sync(crosses) * (chunks - 1.0);
    if (!placed.chip.interconnect.native_shift) {
      add_after(result, chunks * times.copy(rotation.slices, rotation.run, rotation.bits));
    }
    return result;
  }

  /// All shifts of all steps, behind the steps where the chip hides them.
  [[nodiscard]] cost::ExchangeCost shifts(std::int64_t steps, double compute) const {
    std::vector<program::RotationExchange> rotations = program::rotations(placed);
    std::stable_sort(rotations.begin(), rotations.end(),
                     [](const auto& a, const auto& b) { return a.every > b.every; });
    cost::Motion motion;
    motion.steps = steps;
    motion.shift = cost::kNoExchange;
    std::int64_t every = 0;  // of the loop at hand
    for (const program::RotationExchange& rotation : rotations) {
      const std::int64_t count = (steps - 1) / rotation.every;
      if (rotation.every != every) {
        every = rotation.every;
        motion.rounds[motion.loops++] = {.steps = count, .once = 0.0};
      }
      const cost::ExchangeCost one = once(rotation);
      motion.rounds[motion.loops - 1].once += one.time.value;
      motion.shift = cost::after(motion.shift, cost::repeated(one, count));
    }
    cost::hide_shifts(placed.chip, compute, motion);
    return motion.shift;
  }

  [[nodiscard]] cost::ExchangeCost reductions() const {
    cost::ExchangeCost result = cost::kNoExchange;
    for (const program::ReductionRound& round : program::reductions(placed)) {
      cost::ExchangeCost one = of(round.exchange);
      add_after(one, times.add(round.parts, round.elements));
      result = cost::after(result, one);
    }
    return result;
  }

  [[nodiscard]] cost::ExchangeCost distribution() const {
    program::Exchange all;
    for (const OperandId k : placed.op.operands.ids()) {
      if (partition::from_hbm(placed.graph, placed.op.operands[k]) &&
          partition::first_like(placed.op, k) == k) {
        program::add_setup(placed, k, all);
      }
    }
    return all.transfers.empty() ? cost::kNoExchange : of(all);
  }
};

/// Of `counted` the times, of `known` the bytes.
cost::ExchangeCost retimed(const cost::ExchangeCost& known, cost::ExchangeCost counted) {
  counted.bytes = known.bytes;
  return counted;
}

}  // namespace

bool counts_exchanges(const chip::Chip& chip) {
  return counts_links(chip) &&
         (chip::total_cores(chip) <= tuning::kFewCores || chip::routed_between(chip));
}

void settle_exchanges(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
                      const tile::TileModel& tiles, cost::PlanOption& option) {
  const bool wide = partition::is_wide(option.plan, chip);
  const bool small = chip::total_cores(chip) <= tuning::kFewCores;
  if (ir::is_collective(op.kind) || !(wide || small)) {
    return;
  }
  tile::TileTimes times(graph, op, chip, tiles);
  program::OpPlan plan{.execute = option.plan, .divisor = {}, .tree = option.tree};
  const program::PlacedOp placed{graph, op, plan, chip};
  const PlacedPlan counter{.placed = placed, .times = times, .wide = wide};
  if (option.steps > 1 && (small || option.shift.crossing.value > 0)) {
    option.shift = retimed(option.shift, counter.shifts(option.steps, option.compute.value));
  }
  if (small || option.reduce.crossing.value > 0) {
    option.reduce = retimed(option.reduce, counter.reductions());
  }
  option.time = option.gather.time + option.compute + option.shift.time + option.reduce.time;
  for (cost::PreloadState& state : option.states) {
    plan.divisor = state.divisor;
    state.distribute = retimed(state.distribute, counter.distribution());
  }
}

}  // namespace elk::schedule
