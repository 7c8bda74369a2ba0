#include "elk/compile/compile.hpp"

#include <algorithm>
#include <cmath>
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
#include "elk/compile/spaces.hpp"
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
  plan.policy = schedule::Policy::Ideal;
  plan.origin = schedule::Policy::Ideal;
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

constexpr std::int64_t kIdealWork = 200'000;  // of the ideal's own search, in ops that are timed

/// Searches for the schedule and for the bounds side by side: these go to `spaces`, for they are
/// known even where no schedule is found.
schedule::Found found_beside_bounds(schedule::Problem& problem, Seconds ideal,
                                    const schedule::SearchOptions& asked, Spaces& spaces) {
  std::optional<schedule::Found> found;
  parallel_for_index(2, asked.threads, [&](std::size_t job) {
    if (job == 0) {
      spaces.bounds.push_back(schedule::bounds(problem, ideal));
    } else {
      found = schedule::search(problem, asked);
    }
  });
  return std::move(*found);
}

/// All passes on a graph and a machine as they are.
Compiled compile_on(const ir::Graph& graph, const chip::Chip& chip, const cost::TileModel& tiles,
                    const Options& options, Spaces& spaces) {
  check_capacity(graph, chip);
  Fronts distinct = fronts(graph, chip, tiles, options);
  const Search search = counts(distinct.fronts);
  schedule::Problem problem(graph, chip, tiles,
                            {.all = std::move(distinct.fronts), .of = std::move(distinct.front_of)},
                            {.threads = options.threads});
  if (options.kept != nullptr) {
    problem.use(options.kept->handovers(), options.kept->known_together());
  }
  const schedule::Ideal alone = schedule::fastest_alone(problem);
  const schedule::SearchOptions asked{.policy = options.policy,
                                      .effort = options.effort,
                                      .threads = options.threads,
                                      .judge = judge(graph, chip, tiles, options.threads),
                                      .watch = options.watch};
  schedule::Found found = found_beside_bounds(problem, alone.times.total, asked, spaces);
  const schedule::Ideal ideal = schedule::ideal(problem, alone, found.considered,
                                                {.most = kIdealWork, .threads = options.threads});
  Plan plan{.policy = options.policy,
            .shard = {},
            .ops = {},
            .fronts = {},
            .front_of = problem.front_of(),
            .schedule = {},
            .program = {},
            .predicted = {},
            .bounds = spaces.bounds.back(),
            .wave_dims = {},
            .raw = {0},
            .origin = options.policy,
            .occupancy = {},
            .search = search};
  plan.bounds.ideal = ideal.times.total;
  Compiled result{.plan = plan, .ideal = {}};
  if (spaces.wants_ideal) {
    fill_ideal(problem, ideal, plan);
    plan.fronts = problem.fronts();
    result.ideal = std::move(plan);
  }
  result.plan.least = std::move(found.least);
  result.plan.aimed = aim(problem, options, found);
  result.plan.simulated = found.judged;
  fill_found(problem, std::move(found), options.threads, result.plan);
  result.plan.fronts = problem.fronts();
  return result;
}

constexpr Seconds kNoPlan{std::numeric_limits<double>::infinity()};

/// The plans of one model, as it is and in waves, for one machine.
class Versions {
 public:
  Versions(const Whole& whole, const chip::Chip& chip, const cost::TileModel& tiles,
           const Options& options, Spaces& spaces)
      : whole_(whole), chip_(chip), tiles_(tiles), options_(options), spaces_(spaces) {}

  /// Plans the model under `policy`, in these waves if there are any, and keeps the better plan.
  void enter(schedule::Policy policy, const ir::InWaves* waves) {
    Options asked = options_;
    asked.policy = policy;
    try {
      const ir::Graph& graph = waves != nullptr ? waves->graph : whole_.graph;
      Compiled made = compile_on(graph, chip_, tiles_, asked, spaces_);
      take_least(made.plan);
      run_as(whole_, waves, made.plan);
      if (made.ideal) {
        run_as(whole_, waves, *made.ideal);
      }
      take_ideal(made, spaces_);
      if (!best_ || beats(rival(*best_), rival(made.plan), tiles_, options_.threads)) {
        best_ = std::move(made.plan);
      }
    } catch (const Infeasible&) {
      why_ = why_ ? why_ : std::current_exception();
    }
  }

  /// The highest policy for which nothing fits, of those that the asked one stands for.
  [[nodiscard]] std::optional<schedule::Policy> without() const {
    for (const schedule::Policy policy : policies_from(options_)) {
      const auto at = static_cast<std::size_t>(policy);
      if (!best_ || (at < least_.size() && std::isinf(least_[at].value))) {
        return policy;
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] bool has_none() const { return !best_; }

  /// Throws why the first did not fit if none did.
  [[nodiscard]] Plan best() && {
    if (!best_) {
      std::rethrow_exception(why_);
    }
    best_->least = std::move(least_);
    return std::move(*best_);
  }

 private:
  [[nodiscard]] Rival rival(Plan& plan) const {
    return {.graph = plan.shard ? plan.shard->graph : whole_.graph, .chip = chip_, .plan = plan};
  }

  void take_least(const Plan& plan) {
    least_.resize(std::max(least_.size(), plan.least.size()), kNoPlan);
    for (std::size_t i = 0; i < plan.least.size(); ++i) {
      least_[i] = std::min(least_[i], plan.least[i]);
    }
  }

  const Whole& whole_;
  const chip::Chip& chip_;
  const cost::TileModel& tiles_;
  const Options& options_;
  Spaces& spaces_;              // whose bounds have to hold for all of these
  std::vector<Seconds> least_;  // of each policy
  std::optional<Plan> best_;
  std::exception_ptr why_;
};

/// The plan of a graph as it is, or with large ops in waves where that takes less: in smaller ones
/// under policies for which it fits in no other way. Adds the bounds of all of these to `spaces`.
Plan compile_best(const Whole& whole, const chip::Chip& chip, const cost::TileModel& tiles,
                  const Options& options, Spaces& spaces) {
  const std::vector<std::int32_t> uncut;
  const std::vector<std::int32_t>& split = whole.one != nullptr ? whole.one->axes : uncut;
  Versions versions(whole, chip, tiles, options, spaces);
  versions.enter(options.policy, nullptr);
  for (const double share : {kLargeShare, kLargeShare / 2, kLargeShare / 4}) {
    const auto policy = share == kLargeShare ? std::optional(options.policy) : versions.without();
    if (!options.waves || !policy || (!versions.has_none() && Watch::stops(options.watch))) {
      break;
    }
    if (const auto waves = large_in_waves(whole.graph, split, chip, share)) {
      versions.enter(*policy, &*waves);
    }
  }
  return std::move(versions).best();
}

/// The plan of all chips' cores as one machine, or of the one chip there is.
Plan compile_whole(const ir::Graph& graph, const chip::Chip& chip, const cost::TileModel& tiles,
                   const Options& options, Spaces& spaces) {
  return compile_best({.graph = graph, .one = nullptr}, chip, tiles, options, spaces);
}

/// All chips' cores as one machine. Where any axes of an op may be cut, a chip uses as many of its
/// cores for its part as it would for the whole op: only on grids and rings, where few may, one
/// machine of more cores is worth an estimate.
Pooled pooled(const ir::Graph& graph, const chip::Chip& chip, const cost::TileModel& tiles,
              const Options& options, Spaces& spaces) {
  const bool few_axes = chip::is_mesh(chip);
  constexpr Picoseconds kNever{std::numeric_limits<std::int64_t>::max()};
  return {.about = few_axes ? train::pooled_time(graph, chip, tiles, options.threads) : kNever,
          .plan = [&](schedule::Policy policy) {
            Options asked = options;
            asked.policy = policy;
            return compile_whole(graph, chip, tiles, asked, spaces);
          }};
}

/// The plan of chips that share the model, or of them as one machine where that is better.
Plan compile_pod(const ir::Graph& graph, const chip::Chip& chip, const cost::TileModel& tiles,
                 const Options& options, Spaces& spaces) {
  train::ExecuteTime execute = train::by_cuts(graph, chip, tiles);
  if (options.kept != nullptr) {
    execute = options.kept->recalled(graph, chip, std::move(execute));
  }
  const Pooled as_one = pooled(graph, chip, tiles, options, spaces);
  const std::vector<train::Sharding> proposals =
      train::proposals(graph, chip, execute, options.threads);
  const auto plan_of = [&](const train::Sharding& sharding, schedule::Policy policy) {
    Options asked = options;
    asked.policy = policy;
    const train::OneChip one = train::one_chip(graph, sharding, chip.chips);
    Plan plan =
        compile_best({.graph = one.graph, .one = &one}, chip::one_of(chip), tiles, asked, spaces);
    count_chips(chip.chips, plan.aimed);
    return plan;
  };
  return shortest(
      {.proposals = proposals,
       .resort = [&] { return train::leanest(graph, chip, execute, options.threads); },
       .plan_of = plan_of,
       .pooled = as_one,
       .beats = [&](Plan& best, Plan& plan) { return beats(graph, chip, tiles, best, plan); }},
      policies_from(options), options.watch);
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
  Spaces spaces{.bounds = {},
                .wants_ideal = options.policy == schedule::Policy::Ideal,
                .least = {},
                .ideal = {}};
  Options asked = options;
  asked.policy = spaces.wants_ideal ? schedule::Policy::ElkFull : options.policy;
  Plan plan = options.pod == Pod::Pooled || chip.chips == 1
                  ? compile_whole(graph, chip, tiles, asked, spaces)
                  : compile_pod(graph, chip, tiles, asked, spaces);
  plan.policy = asked.policy;
  return concluded(graph, chip, tiles, std::move(plan), std::move(spaces));
}

}  // namespace elk::compile
