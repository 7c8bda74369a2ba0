#include "elk/compile/compile.hpp"

#include <cstddef>
#include <exception>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/compile/fronts.hpp"
#include "elk/compile/shortest.hpp"
#include "elk/compile/simulate.hpp"
#include "elk/compile/waves.hpp"
#include "elk/schedule/bounds.hpp"
#include "elk/schedule/evaluate.hpp"
#include "elk/schedule/ideal.hpp"
#include "elk/schedule/problem.hpp"
#include "elk/schedule/search.hpp"
#include "elk/train/propose.hpp"

namespace elk::compile {
namespace {

/// Distinct tensors of an op in order of first operand, as a footprint lists them.
std::vector<std::int32_t> distinct_tensors(const ir::Op& op) {
  std::vector<std::int32_t> result;
  for (const ir::Operand& operand : op.operands) {
    bool seen = false;
    for (const std::int32_t tensor : result) {
      seen = seen || tensor == operand.tensor;
    }
    if (!seen) {
      result.push_back(operand.tensor);
    }
  }
  return result;
}

PlannedOp planned(const schedule::Problem& problem, std::int32_t op, const schedule::Choice& choice,
                  const schedule::InPlace& in_place) {
  PlannedOp result{.option = problem.option(op, choice),
                   .state = problem.state(op, choice),
                   .has_preload = problem.is_loaded(op),
                   .front = problem.front_of()[static_cast<std::size_t>(op)],
                   .choice = choice.option};
  cost::PlanOption& option = result.option;
  option.gather = in_place.gather;
  option.time = option.gather.time + option.compute + option.shift.time + option.reduce.time;
  option.exchange = option.gather.bytes + option.shift.bytes + option.reduce.bytes;
  option.footprint.tensors = distinct_tensors(problem.graph().ops[static_cast<std::size_t>(op)]);
  return result;
}

schedule::Span span(const cost::Interval& interval) {
  return {.begin = to_picoseconds(interval.begin), .end = to_picoseconds(interval.end)};
}

schedule::Forecast forecast(const schedule::Problem& problem, const cost::TimelineResult& times) {
  schedule::Forecast result{.ops = {}, .stores = {}, .total = to_picoseconds(times.total)};
  for (std::size_t i = 0; i < times.executes.size(); ++i) {
    result.ops.push_back({.preload = span(times.preloads[i]), .execute = span(times.executes[i])});
  }
  const std::vector<ir::Store> stores = schedule::stores(problem);
  for (std::size_t k = 0; k < times.stores.size(); ++k) {
    result.stores.push_back({.tensor = stores[k].tensor, .store = span(times.stores[k])});
  }
  return result;
}

Search counts(const std::vector<cost::Front>& fronts) {
  Search result{.complete = 0, .filtered = 0, .pareto = 0, .orders = {}};
  for (const cost::Front& front : fronts) {
    result.complete += front.counts.complete;
    result.filtered += front.counts.filtered;
    result.pareto += front.counts.pareto;
  }
  return result;
}

void refuse_unsound(const ir::Graph& graph, const chip::Chip& chip,
                    const program::Program& program) {
  const std::vector<std::string> broken = program::check(graph, chip, program);
  if (!broken.empty()) {
    throw InternalError(
        text("the planned program breaks ", broken.size(), " rule(s): ", broken.front()),
        "unsound_program");
  }
}

/// The ideal's times and choices, without a program to place.
void fill_ideal(const schedule::Problem& problem, const schedule::Ideal& ideal, Plan& plan) {
  plan.schedule = ideal.schedule;
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    const auto at = static_cast<std::size_t>(op);
    plan.ops.push_back(planned(problem, op, ideal.schedule.ops[at], ideal.in_place[at]));
  }
  plan.program.code =
      program::issue(problem.graph(), ideal.schedule.preload_order, ideal.schedule.issued_before);
  plan.predicted = forecast(problem, ideal.times);
  plan.raw = plan.predicted.total;
}

void fill_found(const schedule::Problem& problem, schedule::Found found, Plan& plan) {
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    const auto at = static_cast<std::size_t>(op);
    plan.ops.push_back(planned(problem, op, found.schedule.ops[at], found.in_place[at]));
  }
  plan.schedule = std::move(found.schedule);
  plan.program = std::move(found.program);
  plan.occupancy = std::move(found.occupancy);
  plan.predicted = forecast(problem, found.times);
  plan.raw = to_picoseconds(found.raw);
  plan.origin = found.origin;
  plan.search.orders = found.orders;
}

/// Simulated times, where cores are equal and simulated once: on a grid each has its own links, and
/// forecasts decide.
schedule::Judge judge(const ir::Graph& graph, const chip::Chip& chip,
                      const cost::TileModel& tiles) {
  if (chip.interconnect.topology != chip::Topology::AllToAll) {
    return {};
  }
  return [&](const program::Program& program) {
    return to_seconds(simulate(graph, chip, program, tiles, sim::Fidelity::Symmetric).total);
  };
}

}  // namespace

namespace {

/// All passes on a graph and a machine as they are; `bounds` are known even where no schedule is
/// found.
Plan compile_on(const ir::Graph& graph, const chip::Chip& chip, const cost::TileModel& tiles,
                const Options& options, std::vector<schedule::Bounds>& bounds) {
  check_capacity(graph, chip);
  Fronts distinct = fronts(graph, chip, tiles, options.constraints, options.threads);
  const Search search = counts(distinct.fronts);
  schedule::Problem problem(graph, chip, tiles, std::move(distinct.fronts),
                            std::move(distinct.front_of));
  const schedule::Ideal ideal = schedule::ideal(problem);
  Plan plan{.policy = options.policy,
            .shard = {},
            .ops = {},
            .fronts = {},
            .front_of = problem.front_of(),
            .schedule = {},
            .program = {},
            .predicted = {},
            .bounds = schedule::bounds(problem, ideal.times.total),
            .wave_dims = {},
            .raw = {0},
            .origin = options.policy,
            .occupancy = {},
            .search = search};
  bounds.push_back(plan.bounds);
  if (options.policy == schedule::Policy::Ideal) {
    fill_ideal(problem, ideal, plan);
  } else {
    const schedule::SearchOptions asked{.policy = options.policy,
                                        .effort = options.effort,
                                        .threads = options.threads,
                                        .judge = judge(graph, chip, tiles),
                                        .watch = options.watch};
    fill_found(problem, schedule::search(problem, asked), plan);
    refuse_unsound(graph, chip, plan.program);
  }
  plan.fronts = problem.fronts();
  return plan;
}

/// What counts where plans compete: simulated time, where that decides between schedules, too.
Seconds judged(const ir::Graph& graph, const chip::Chip& chip, const cost::TileModel& tiles,
               const Plan& plan) {
  const schedule::Judge by = judge(graph, chip, tiles);
  const bool runs = plan.policy != schedule::Policy::Ideal;
  return by && runs ? by(plan.program) : to_seconds(plan.predicted.total);
}

/// A plan of what one machine runs, and the waves in which it runs it.
struct Best {
  Plan plan;
  std::optional<ir::InWaves> waves;
};

/// The plan of `graph` as it is, or with large ops in waves where that takes less: in smaller ones
/// if it fits in no other way. Its bounds hold for all of these. `split` has the axis of each op
/// that is cut over chips.
Best compile_best(const ir::Graph& graph, const std::vector<std::int32_t>& split,
                  const chip::Chip& chip, const cost::TileModel& tiles, const Options& options) {
  std::vector<schedule::Bounds> bounds;
  std::optional<Best> best;
  std::exception_ptr why;
  try {
    best.emplace(Best{.plan = compile_on(graph, chip, tiles, options, bounds), .waves = {}});
  } catch (const Infeasible&) {
    why = std::current_exception();
  }
  for (const double share : {kLargeShare, kLargeShare / 2, kLargeShare / 4}) {
    if (best && (best->waves || share < kLargeShare || Watch::stops(options.watch))) {
      break;
    }
    std::optional<ir::InWaves> waves;
    if (options.waves) {
      waves = large_in_waves(graph, split, chip, share);
    }
    if (!waves) {
      continue;
    }
    try {
      Plan plan = compile_on(waves->graph, chip, tiles, options, bounds);
      if (!best ||
          judged(waves->graph, chip, tiles, plan) < judged(graph, chip, tiles, best->plan)) {
        plan.wave_dims = waves->dim_of;
        best.emplace(Best{.plan = std::move(plan), .waves = std::move(waves)});
      }
    } catch (const Infeasible&) {
      why = why ? why : std::current_exception();
    }
  }
  if (!best) {
    std::rethrow_exception(why);
  }
  best->plan.bounds = schedule::least_bounds(bounds);
  return std::move(*best);
}

void check_input(const ir::Graph& graph, const chip::Chip& chip) {
  ir::validate(graph);
  chip::validate(chip);
  check_products(graph, chip);
}

}  // namespace

train::Sharding shard(const ir::Graph& graph, const chip::Chip& chip, const cost::TileModel& tiles,
                      int threads) {
  check_input(graph, chip);
  return train::shard(graph, chip, train::by_cuts(graph, chip, tiles), threads);
}

Plan compile(const ir::Graph& graph, const chip::Chip& chip, const cost::TileModel& tiles,
             const Options& options) {
  if (options.pod == Pod::Pooled || chip.chips == 1) {
    check_input(graph, chip);
    Best best = compile_best(graph, {}, chip, tiles, options);
    if (best.waves) {
      best.plan.shard = in_parts(unsplit(graph), *best.waves);
    }
    return std::move(best.plan);
  }
  check_input(graph, chip);
  const train::ExecuteTime execute = train::by_cuts(graph, chip, tiles);
  return shortest(
      train::proposals(graph, chip, execute, options.threads),
      [&] { return train::leanest(graph, chip, execute, options.threads); },
      [&](const train::Sharding& sharding) {
        train::OneChip one = train::one_chip(graph, sharding, chip.chips);
        Best best = compile_best(one.graph, one.axes, chip::one_of(chip), tiles, options);
        best.plan.shard = best.waves ? in_parts(one, *best.waves) : std::move(one);
        return std::move(best.plan);
      });
}

}  // namespace elk::compile
