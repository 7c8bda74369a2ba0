#include "elk/compile/compile.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/parallel.hpp"
#include "elk/compile/aim.hpp"
#include "elk/compile/fronts.hpp"
#include "elk/compile/judge.hpp"
#include "elk/compile/moved.hpp"
#include "elk/compile/shortest.hpp"
#include "elk/compile/waves.hpp"
#include "elk/schedule/bounds.hpp"
#include "elk/schedule/evaluate.hpp"
#include "elk/schedule/ideal.hpp"
#include "elk/schedule/problem.hpp"
#include "elk/schedule/search.hpp"
#include "elk/train/pooled.hpp"
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

/// The plan of what was found, whose program is checked while it is counted what it moves.
void fill_found(const schedule::Problem& problem, schedule::Found found, int threads, Plan& plan) {
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    const auto at = static_cast<std::size_t>(op);
    plan.ops.push_back(planned(problem, op, found.schedule.ops[at], found.in_place[at]));
  }
  std::vector<Moved> bytes;
  parallel_for_index(2, threads, [&](std::size_t job) {
    if (job == 0) {
      refuse_unsound(problem.graph(), problem.chip(), found.program);
    } else {
      bytes = moved(problem.graph(), problem.chip(), found.program, threads);
    }
  });
  for (std::size_t op = 0; op < plan.ops.size(); ++op) {
    cost::PlanOption& option = plan.ops[op].option;
    option.gather.bytes = bytes[op].gather;
    option.exchange = option.gather.bytes + option.shift.bytes + option.reduce.bytes;
    plan.ops[op].state.distribute.bytes = bytes[op].distribute;
  }
  plan.schedule = std::move(found.schedule);
  plan.program = std::move(found.program);
  plan.occupancy = std::move(found.occupancy);
  plan.predicted = forecast(problem, found.times);
  plan.raw = to_picoseconds(found.raw);
  plan.origin = found.origin;
  plan.search.orders = found.orders;
}

/// The bounds of every space of plans that one call looks at: a graph on a machine. They are known
/// even where no schedule is found, as another policy may find one.
using Spaces = std::vector<schedule::Bounds>;

/// What compiles on graphs that compete leave behind beside their plans.
struct Tries {
  Spaces& bounds;
  std::optional<Seconds> simulated;  // of the last plan, if the search asked for it
};

/// Searches for the schedule and for the bounds side by side: these go to `tries`, for they are
/// known even where no schedule is found.
schedule::Found found_beside_bounds(schedule::Problem& problem, Seconds ideal,
                                    const schedule::SearchOptions& asked, Tries& tries) {
  std::optional<schedule::Found> found;
  parallel_for_index(2, asked.threads, [&](std::size_t job) {
    if (job == 0) {
      tries.bounds.push_back(schedule::bounds(problem, ideal));
    } else {
      found = schedule::search(problem, asked);
    }
  });
  return std::move(*found);
}

/// All passes on a graph and a machine as they are.
Plan compile_on(const ir::Graph& graph, const chip::Chip& chip, const cost::TileModel& tiles,
                const Options& options, Tries& tries) {
  tries.simulated.reset();
  check_capacity(graph, chip);
  Fronts distinct = fronts(graph, chip, tiles, options);
  const Search search = counts(distinct.fronts);
  schedule::Problem problem(graph, chip, tiles,
                            {.all = std::move(distinct.fronts), .of = std::move(distinct.front_of)},
                            {.by_links = options.counts_links, .threads = options.threads});
  if (options.kept != nullptr) {
    problem.use(options.kept->handovers(), options.kept->known_together());
  }
  const schedule::Ideal ideal = schedule::ideal(problem);
  Plan plan{.policy = options.policy,
            .shard = {},
            .ops = {},
            .fronts = {},
            .front_of = problem.front_of(),
            .schedule = {},
            .program = {},
            .predicted = {},
            .bounds = {},
            .wave_dims = {},
            .raw = {0},
            .origin = options.policy,
            .occupancy = {},
            .search = search};
  if (options.policy == schedule::Policy::Ideal) {
    tries.bounds.push_back(schedule::bounds(problem, ideal.times.total));
    fill_ideal(problem, ideal, plan);
  } else {
    const schedule::SearchOptions asked{.policy = options.policy,
                                        .effort = options.effort,
                                        .threads = options.threads,
                                        .judge = judge(graph, chip, tiles, options.threads),
                                        .watch = options.watch};
    schedule::Found found = found_beside_bounds(problem, ideal.times.total, asked, tries);
    tries.simulated = found.judged;
    plan.aimed = aim(problem, options, found);
    fill_found(problem, std::move(found), options.threads, plan);
  }
  plan.bounds = tries.bounds.back();
  plan.fronts = problem.fronts();
  return plan;
}

/// A plan of what one machine runs, and the waves in which it runs it.
struct Best {
  Plan plan;
  std::optional<ir::InWaves> waves;
};

/// Whether waves of at most `share` of SRAM are worth a try: the largest, whatever `best` is, and
/// smaller ones if nothing fits without.
bool tries_waves(const std::optional<Best>& best, double share, const Options& options) {
  return options.waves &&
         (!best || (!best->waves && share == kLargeShare && !Watch::stops(options.watch)));
}

/// A graph to be planned on one machine, and the axis of each of its ops that is cut over chips.
struct Whole {
  const ir::Graph& graph;
  const std::vector<std::int32_t>& split;
};

/// The plan of a graph as it is, or with large ops in waves where that takes less: in smaller ones
/// if it fits in no other way. Adds the bounds of all of these to `spaces`.
Best compile_best(const Whole& whole, const chip::Chip& chip, const cost::TileModel& tiles,
                  const Options& options, Spaces& spaces) {
  const auto& [graph, split] = whole;
  Tries tries{.bounds = spaces, .simulated = {}};
  std::optional<Best> best;
  std::exception_ptr why;
  try {
    best.emplace(Best{.plan = compile_on(graph, chip, tiles, options, tries), .waves = {}});
  } catch (const Infeasible&) {
    why = std::current_exception();
  }
  const std::optional<Seconds> simulated = tries.simulated;
  for (const double share : {kLargeShare, kLargeShare / 2, kLargeShare / 4}) {
    if (!tries_waves(best, share, options)) {
      break;
    }
    std::optional<ir::InWaves> waves = large_in_waves(graph, split, chip, share);
    if (!waves) {
      continue;
    }
    try {
      Plan plan = compile_on(waves->graph, chip, tiles, options, tries);
      if (!best || judged(waves->graph, chip, tiles, plan, tries.simulated) <
                       judged(graph, chip, tiles, best->plan, simulated)) {
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
  return std::move(*best);
}

/// The plan of all chips' cores as one machine, or of the one chip there is.
Plan compile_whole(const ir::Graph& graph, const chip::Chip& chip, const cost::TileModel& tiles,
                   const Options& options, Spaces& spaces) {
  Best best = compile_best({.graph = graph, .split = {}}, chip, tiles, options, spaces);
  if (best.waves) {
    best.plan.shard = in_parts(unsplit(graph), *best.waves);
  }
  best.plan.pod = Pod::Pooled;
  return std::move(best.plan);
}

/// Cores of a grid beyond which to count gathers link by link takes a compile longer than all else,
/// and what a glance, which takes senders as even, has to promise before that.
constexpr std::int64_t kMostAtOnce = 4096;
constexpr double kDearGlance = 0.98;
constexpr double kGlance = 1.1;

/// All chips' cores as one machine, under ELK-Full first as ELK-Dyn plans them. Where any axes of
/// an op may be cut, a chip uses as many of its cores for its part as it would for the whole op:
/// only on grids and rings, where few may, one machine of more cores is worth an estimate.
Pooled pooled(const ir::Graph& graph, const chip::Chip& chip, const cost::TileModel& tiles,
              const Options& options, Spaces& spaces) {
  const bool few_axes = chip::is_mesh(chip);
  constexpr Picoseconds kNever{std::numeric_limits<std::int64_t>::max()};
  Pooled result{
      .about = few_axes ? train::pooled_time(graph, chip, tiles, options.threads) : kNever,
      .glance = {},
      .overestimate = chip::total_cores(chip) > kMostAtOnce ? kDearGlance : kGlance,
      .plan = [&] { return compile_whole(graph, chip, tiles, options, spaces); },
      .beats =
          [&](const Plan& best, const Plan& plan) {
            return judges(chip)
                       ? judged(graph, chip, tiles, plan) < judged(graph, chip, tiles, best)
                       : worth(plan) < worth(best);
          }};
  if (options.policy == schedule::Policy::ElkFull) {
    result.glance = [&] {
      Options quick = options;
      quick.policy = schedule::Policy::ElkDyn;
      quick.objective = schedule::Objective::Latency;
      quick.counts_links = false;
      return compile_whole(graph, chip, tiles, quick, spaces).predicted.total;
    };
  }
  return result;
}

/// The plan of chips that share the model, or of them as one machine where that is better.
Plan compile_pod(const ir::Graph& graph, const chip::Chip& chip, const cost::TileModel& tiles,
                 const Options& options, Spaces& spaces) {
  train::ExecuteTime execute = train::by_cuts(graph, chip, tiles);
  if (options.kept != nullptr) {
    execute = options.kept->recalled(graph, chip, std::move(execute));
  }
  return shortest(
      train::proposals(graph, chip, execute, options.threads),
      [&] { return train::leanest(graph, chip, execute, options.threads); },
      [&](const train::Sharding& sharding) {
        train::OneChip one = train::one_chip(graph, sharding, chip.chips);
        Best best = compile_best({.graph = one.graph, .split = one.axes}, chip::one_of(chip), tiles,
                                 options, spaces);
        best.plan.shard = best.waves ? in_parts(one, *best.waves) : std::move(one);
        best.plan.pod = Pod::Sharded;
        count_chips(chip.chips, best.plan.aimed);
        return std::move(best.plan);
      },
      pooled(graph, chip, tiles, options, spaces));
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
  check_objective(chip, options);
  check_input(graph, chip);
  Spaces spaces;
  Plan plan = options.pod == Pod::Pooled || chip.chips == 1
                  ? compile_whole(graph, chip, tiles, options, spaces)
                  : compile_pod(graph, chip, tiles, options, spaces);
  plan.bounds = schedule::least_bounds(spaces);
  return plan;
}

}  // namespace elk::compile
