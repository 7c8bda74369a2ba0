#include "elk/compile/vgm.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/parallel.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/base/text.hpp"
#include "elk/base/watch.hpp"
#include "elk/compile/passes.hpp"
#include "elk/cost/front/front.hpp"
#include "elk/cost/price/price.hpp"
#include "elk/cost/price/pricer.hpp"
#include "elk/ir/rounds.hpp"
#include "elk/partition/plan.hpp"
#include "elk/program/code/lifetimes.hpp"

namespace elk::compile {
namespace {

/// `graph` with everything loaded from where graph inputs lie: evenly over all cores.
ir::Graph all_spread(ir::Graph graph) {
  for (ir::Tensor& tensor : graph.tensors) {
    tensor.home = ir::in_hbm(tensor) ? ir::Home::Input : tensor.home;
  }
  return graph;
}

/// Bytes of a core that tensors take during each op, evenly over all cores: weights and states
/// always, others from the op that makes or first reads them to the last that reads them.
Table<OpId, Bytes> lying(const ir::Graph& graph, const chip::Chip& chip) {
  const program::Lifetimes lives = program::lifetimes(graph);
  Bytes always{0};
  for (const TensorId t : graph.tensors.ids()) {
    const bool used = std::max(lives.producer[t], lives.last_reader[t]) != OpId::none;
    always += used && ir::in_hbm(graph.tensors[t]) ? partition::spread_share(graph.tensors[t], chip)
                                                   : Bytes{0};
  }
  Table<OpId, Bytes> result = program::alive(graph, lives, [&](TensorId t) {
    return ir::in_hbm(graph.tensors[t]) ? Bytes{0}
                                        : partition::spread_share(graph.tensors[t], chip);
  });
  for (Bytes& bytes : result) {
    bytes += always;
  }
  return result;
}

void refuse_unsuited(const chip::Chip& chip, const Options& options) {
  if (chip.hbm) {
    throw InvalidInput(
        text("policy vgm is for chips without HBM, on which a model lives in SRAM; chip '",
             chip.name, "' has HBM: take policy static or elk-full, or a chip without"));
  }
  if (chip.chips > 1 && options.pod != Pod::Pooled) {
    throw InvalidInput(text("policy vgm has one memory over the cores of all ", chip.chips,
                            " chips of '", chip.name, "', got pod sharded: take pod pooled"));
  }
  if (!options.plans.empty()) {
    throw InvalidInput(text("policy vgm makes plans of its own for all ops, got plans for ",
                            options.plans.size(), ": leave plans out, or take another policy"));
  }
}

[[noreturn]] void refuse(const ir::Op& op, Bytes smallest, Bytes lying, const chip::Chip& chip) {
  const std::int64_t room = chip::room(chip).value;
  throw Infeasible(
      text("op '", op.name, "' (", op.onnx_type,
           ") does not fit under policy vgm: weights and live ", "activations take ", lying.value,
           " bytes a core, its smallest round ", smallest.value, " more, of ", room,
           " usable (core.sram_bytes - core.reserved_bytes), ", lying.value + smallest.value - room,
           " too many; more cores, a larger core.sram_bytes, a smaller batch or policy elk-full "
           "might make it fit"),
      "sram_overflow");
}

/// Executes one after another.
schedule::Forecast forecast(const Table<OpId, PlannedOp>& ops) {
  schedule::Forecast result{.ops = {}, .stores = {}, .total = {0}};
  Seconds now{0.0};
  for (const PlannedOp& one : ops) {
    const Picoseconds begin = to_picoseconds(now);
    now += one.option.time;
    result.total = to_picoseconds(now);
    result.ops.push_back({.preload = {}, .execute = {.begin = begin, .end = result.total}});
  }
  return result;
}

/// How an op runs: the option is of all its rounds together, its plan and its space of one.
struct RoundsChoice {
  ir::Rounds rounds;
  std::int32_t option;
};

/// The plans of an op by the number of its rounds, each front made when it is asked for.
class RoundFronts {
 public:
  RoundFronts(const ir::Graph& spread, OpId op, const chip::Chip& chip,
              const tile::TileModel& tiles, const cost::Constraints& constraints)
      : alone_(spread), chip_(chip), tiles_(tiles), constraints_(constraints) {
    alone_.ops = {spread.ops[op]};
    for (const AxisId axis : alone_.ops[kOp].axes.ids()) {
      const ir::Axis& one = alone_.ops[kOp].axes[axis];
      if (one.size > 1 && one.role != ir::AxisRole::Row &&
          partition::divisible(alone_.ops[kOp], axis)) {
        axes_.push_back(axis);
      }
    }
  }

  /// The fastest within `room`. More rounds take no less time than fewer of the same cut, so that
  /// more are looked at only as long as their fastest plan, fit or not, would be faster.
  [[nodiscard]] std::optional<RoundsChoice> best(Bytes room) {
    std::optional<RoundsChoice> best;
    double least = 0.0;
    const auto look = [&](const ir::Rounds& rounds) {  // whether more may be faster
      const cost::Front& front = of(rounds);
      for (std::size_t k = 0; k < front.options.size(); ++k) {
        const cost::PlanOption& option = front.options[k];
        if (option.footprint.space <= room && (!best || option.time.value < least)) {
          best = {.rounds = rounds, .option = static_cast<std::int32_t>(k)};
          least = option.time.value;
        }
      }
      return !best || front.options.empty() ||
             front.options[subscript(front.fastest)].time.value < least;
    };
    if (look({})) {
      for (const AxisId axis : axes_) {
        std::int64_t count = first(axis, room);
        while (count <= size(axis) && look({.axis = axis, .count = count})) {
          count = next(axis, count);
        }
      }
    }
    return best;
  }

  /// Bytes that a round of any number of them needs at least.
  [[nodiscard]] Bytes smallest() {
    Bytes result = of({}).smallest;
    for (const AxisId axis : axes_) {
      result = std::min(result, of({.axis = axis, .count = size(axis)}).smallest);
    }
    return result;
  }

  /// Costs of all rounds together.
  [[nodiscard]] const cost::Front& of(const ir::Rounds& rounds) {
    const auto [found, added] = known_.try_emplace({rounds.axis, rounds.count});
    if (added) {
      Watch::check();
      found->second = front(rounds);
    }
    return found->second;
  }

 private:
  static constexpr OpId kOp{0};

  [[nodiscard]] std::int64_t size(AxisId axis) const { return alone_.ops[kOp].axes[axis].size; }

  /// The next number of rounds that are shorter, above the axis where there is none.
  [[nodiscard]] std::int64_t next(AxisId axis, std::int64_t count) const {
    const std::int64_t length = ceil_div(size(axis), count);
    return length == 1 ? size(axis) + 1 : ceil_div(size(axis), length - 1);
  }

  /// The least number of rounds along an axis of which one fits, above the axis where none does.
  [[nodiscard]] std::int64_t first(AxisId axis, Bytes room) {
    const auto fits = [&](std::int64_t count) {
      return of({.axis = axis, .count = count}).smallest <= room;
    };
    std::int64_t below = 1;
    std::int64_t count = 2;
    while (count < size(axis) && !fits(count)) {
      below = count;
      count = std::min(2 * count, size(axis));
    }
    if (!fits(count)) {
      return size(axis) + 1;
    }
    while (count - below > 1) {
      const std::int64_t middle = below + ((count - below) / 2);
      (fits(middle) ? count : below) = middle;
    }
    return count;
  }

  [[nodiscard]] cost::Front front(const ir::Rounds& rounds) const {
    const ir::Graph graph = ir::in_rounds(alone_, {rounds});
    const ir::Op& op = graph.ops[kOp];
    const bool waits = ir::sums_up(alone_.ops[kOp], rounds);
    cost::Constraints limits = constraints_;
    limits.stores_every = waits ? rounds.count : 1;
    limits.thinning = 0.0;
    cost::Front result = cost::front(graph, op, chip_, tiles_, limits);
    cost::Pricer pricer(graph, op, chip_, tiles_, 1);
    for (cost::PlanOption& option : result.options) {
      option = cost::price(graph, op, option.plan, chip_, pricer);
      option.gather = cost::repeated(option.gather, rounds.count);
      option.reduce = waits ? option.reduce : cost::repeated(option.reduce, rounds.count);
      option.compute = option.compute * static_cast<double>(rounds.count);
      option.padded_flops *= static_cast<double>(rounds.count);
      option.time = option.gather.time + option.compute + option.reduce.time;
      option.exchange = option.gather.bytes + option.reduce.bytes;
    }
    return result;
  }

  ir::Graph alone_;  // the one op
  const chip::Chip& chip_;
  const tile::TileModel& tiles_;
  const cost::Constraints& constraints_;
  std::vector<AxisId> axes_;  // along which there are rounds
  std::map<std::pair<AxisId, std::int64_t>, cost::Front> known_;
};

/// What an op was given, with its front.
struct PlannedRounds {
  RoundsChoice choice;
  std::int32_t front;  // among the fronts of its kind
};

/// Ops that are alike.
struct PlannedKind {
  std::vector<PlannedRounds> ops;
  std::vector<cost::Front> fronts;
};

/// What all ops have in common.
struct VgmModel {
  ir::Graph spread;
  Table<OpId, Bytes> lying;
  const chip::Chip& chip;
  const tile::TileModel& tiles;
  const cost::Constraints& constraints;
};

PlannedKind planned_kind(const VgmModel& model, const std::vector<OpId>& ops) {
  const auto& [spread, lying, chip, tiles, constraints] = model;
  RoundFronts fronts(spread, ops.front(), chip, tiles, constraints);
  std::map<Bytes, RoundsChoice> known;
  std::map<std::pair<AxisId, std::int64_t>, std::int32_t> numbers;
  PlannedKind result;
  for (const OpId op : ops) {
    const Bytes room = chip::room(chip) - lying[op];
    const auto [found, added] = known.try_emplace(room);
    if (added) {
      const std::optional<RoundsChoice> best = fronts.best(room);
      if (!best) {
        refuse(spread.ops[op], fronts.smallest(), lying[op], chip);
      }
      found->second = *best;
    }
    const ir::Rounds& rounds = found->second.rounds;
    const auto next = static_cast<std::int32_t>(numbers.size());
    const auto [number, fresh] = numbers.try_emplace({rounds.axis, rounds.count}, next);
    if (fresh) {
      result.fronts.push_back(fronts.of(rounds));
    }
    result.ops.push_back({.choice = found->second, .front = number->second});
  }
  return result;
}

/// Ops by kind, kinds in the order of their first ops.
std::vector<std::vector<OpId>> kinds_of(const ir::Graph& graph) {
  const Table<OpId, OpId> first = ir::equal_ops(graph);
  std::map<OpId, std::vector<OpId>> kinds;
  for (const OpId op : first.ids()) {
    kinds[first[op]].push_back(op);
  }
  std::vector<std::vector<OpId>> result;
  result.reserve(kinds.size());
  for (auto& [like, ops] : kinds) {
    result.push_back(std::move(ops));
  }
  return result;
}

/// The one state of what lies evenly over all cores, and is loaded from there with all else.
cost::PreloadState spread_state(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip) {
  cost::PreloadState result{};
  result.divisor.assign(op.operands.size(), 0);
  for (const OperandId k : op.operands.ids()) {
    if (partition::from_hbm(graph, op.operands[k]) && partition::first_like(op, k) == k) {
      result.spread += partition::spread_share(graph.tensors[op.operands[k].tensor], chip);
    }
  }
  result.space = result.spread;
  return result;
}

}  // namespace

Plan vgm(const ir::Graph& graph, const chip::Chip& chip, const tile::TileModel& tiles,
         const Options& options) {
  refuse_unsuited(chip, options);
  const VgmModel model{.spread = all_spread(graph),
                       .lying = lying(graph, chip),
                       .chip = chip,
                       .tiles = tiles,
                       .constraints = options.constraints};
  const std::vector<std::vector<OpId>> kinds = kinds_of(graph);
  std::vector<PlannedKind> planned = parallel_map(
      kinds, [&](const std::vector<OpId>& ops) { return planned_kind(model, ops); },
      options.threads);
  Plan plan{.policy = schedule::Policy::Vgm,
            .shard = {},
            .ops = Table<OpId, PlannedOp>(graph.ops.size()),
            .fronts = {},
            .front_of = Table<OpId, std::int32_t>(graph.ops.size(), 0),
            .schedule = {},
            .program = {},
            .predicted = {},
            .bounds = {},
            .parts = {},
            .raw = {0},
            .origin = schedule::Policy::Vgm,
            .occupancy = {},
            .search = {}};
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    const auto before = static_cast<std::int32_t>(plan.fronts.size());
    for (std::size_t k = 0; k < kinds[kind].size(); ++k) {
      const OpId op = kinds[kind][k];
      const auto& [choice, number] = planned[kind].ops[k];
      const cost::Front& front = planned[kind].fronts[subscript(number)];
      PlannedOp& one = plan.ops[op];
      one = {.option = front.options[subscript(choice.option)],
             .state = spread_state(graph, graph.ops[op], chip),
             .has_preload = false,
             .front = before + number,
             .choice = choice.option,
             .rounds = choice.rounds};
      one.option.footprint.tensors = ir::tensors_of(graph.ops[op]);
      plan.front_of[op] = one.front;
    }
    for (cost::Front& front : planned[kind].fronts) {
      plan.fronts.push_back(std::move(front));
    }
  }
  plan.search = counts(plan.fronts);
  plan.schedule.issued_before.assign(graph.ops.size(), 0);
  plan.program.code = program::issue(graph, {}, plan.schedule.issued_before);
  plan.predicted = forecast(plan.ops);
  plan.raw = plan.predicted.total;
  return plan;
}

}  // namespace elk::compile
