#include "elk/compile/passes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/intervals.hpp"
#include "elk/base/parallel.hpp"
#include "elk/base/table.hpp"
#include "elk/compile/aim.hpp"
#include "elk/compile/compile_tuning.hpp"
#include "elk/compile/fronts.hpp"
#include "elk/compile/judge.hpp"
#include "elk/compile/moved.hpp"
#include "elk/schedule/policies/finals.hpp"
#include "elk/schedule/timing/evaluate.hpp"

namespace elk::compile {
namespace {

PlannedOp planned(const schedule::Problem& problem, OpId op, const schedule::Choice& choice,
                  const schedule::InPlaceCost& in_place) {
  PlannedOp result{.option = problem.option(op, choice),
                   .state = problem.state(op, choice),
                   .has_preload = problem.is_loaded(op),
                   .front = problem.front_of()[op],
                   .choice = choice.option};
  cost::PlanOption& option = result.option;
  option.gather = in_place.gather;
  option.time = option.gather.time + option.compute + option.shift.time + option.reduce.time;
  option.exchange = option.gather.bytes + option.shift.bytes + option.reduce.bytes;
  option.footprint.tensors = ir::tensors_of(problem.graph().ops[op]);
  return result;
}

Interval<Picoseconds> span(const Interval<Seconds>& interval) {
  return {.begin = to_picoseconds(interval.begin), .end = to_picoseconds(interval.end)};
}

schedule::Forecast forecast(const schedule::Problem& problem, const cost::TimelineResult& times) {
  schedule::Forecast result{.ops = {}, .stores = {}, .total = to_picoseconds(times.total)};
  for (const OpId i : times.executes.ids()) {
    result.ops.push_back({.preload = span(times.preloads[i]), .execute = span(times.executes[i])});
  }
  const std::vector<ir::Store> stores = schedule::stores(problem);
  for (std::size_t k = 0; k < times.stores.size(); ++k) {
    result.stores.push_back({.tensor = stores[k].tensor, .store = span(times.stores[k])});
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
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    plan.ops.push_back(planned(problem, op, ideal.schedule.ops[op], ideal.in_place[op]));
  }
  plan.program.code =
      program::issue(problem.graph(), ideal.schedule.preload_order, ideal.schedule.issued_before);
  plan.predicted = forecast(problem, ideal.times);
  plan.raw = plan.predicted.total;
}

/// The plan of what was found, whose program is checked while it is counted what it moves.
void fill_found(const schedule::Problem& problem, schedule::Found found, int threads, Plan& plan) {
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    plan.ops.push_back(planned(problem, op, found.schedule.ops[op], found.in_place[op]));
  }
  Table<OpId, ExchangeBytes> bytes;
  parallel_for_index(2, threads, [&](std::size_t job) {
    if (job == 0) {
      refuse_unsound(problem.graph(), problem.chip(), found.program);
    } else {
      bytes = moved(problem.graph(), problem.chip(), found.program, threads);
    }
  });
  for (const OpId op : plan.ops.ids()) {
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
  plan.search.explored = found.explored;
}

/// Of each op of a graph in slices, how many stood before it that are the same op of the slice; of
/// what stands behind all slices that of the last.
Table<OpId, std::int32_t> slices_of(const Table<OpId, OpId>& slice_op) {
  Table<OpId, std::int32_t> met(slice_op.size(), 0);
  Table<OpId, std::int32_t> result;
  std::int32_t last = 0;
  for (const OpId like : slice_op) {
    last = std::max(last, met[like]++);
    result.push_back(last);
  }
  return result;
}

/// Preloads of a graph in slices, slice by slice in the order that they have in one of them.
std::vector<OpId> repeated_order(const std::vector<OpId>& order, const Table<OpId, OpId>& slice_op,
                                 const std::vector<OpId>& loaded) {
  Table<OpId, std::size_t> rank(slice_op.size(), 0);  // of each op of the slice
  for (std::size_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = i;
  }
  const Table<OpId, std::int32_t> slice = slices_of(slice_op);
  std::vector<OpId> result = loaded;
  std::stable_sort(result.begin(), result.end(), [&](OpId a, OpId b) {
    return std::tuple(slice[a], rank[slice_op[a]]) < std::tuple(slice[b], rank[slice_op[b]]);
  });
  return result;
}

/// Of each op of a graph in slices the first op before whose execute its preload is issued, so that
/// each slice begins when that before it is over.
Table<OpId, OpId> repeated_slots(const schedule::Schedule& of_slice,
                                 const Table<OpId, OpId>& slice_op) {
  Table<OpId, OpId> slot(slice_op.size(), OpId{0});  // of each op of the slice
  std::int32_t issued = 0;
  for (const OpId op : of_slice.issued_before.ids()) {
    for (; issued < of_slice.issued_before[op]; ++issued) {
      slot[of_slice.preload_order[subscript(issued)]] = op;
    }
  }
  const Table<OpId, std::int32_t> slice = slices_of(slice_op);
  std::map<std::pair<std::int32_t, OpId>, OpId> place;  // by slice and its op
  for (const OpId op : slice_op.ids()) {
    place.try_emplace({slice[op], slice_op[op]}, op);
  }
  Table<OpId, OpId> result;
  for (const OpId op : slice_op.ids()) {
    const auto found = place.find({slice[op], slot[slice_op[op]]});
    result.push_back(found != place.end() ? found->second : OpId{0});
  }
  return result;
}

/// With the bounds of this space, which are known even where nothing fits.
PlanAndIdeal compiled_by(Passes& passes, const Options& options, BoundsBook& spaces) {
  try {
    PlanAndIdeal result = passes.compiled(options);
    spaces.bounds.push_back(*passes.bounds());
    return result;
  } catch (const Infeasible&) {
    spaces.bounds.push_back(*passes.bounds());
    throw;
  }
}

}  // namespace

Search counts(const std::vector<cost::Front>& fronts) {
  Search result{.complete = 0, .filtered = 0, .pareto = 0, .orders = {}};
  for (const cost::Front& front : fronts) {
    result.complete += front.counts.complete;
    result.filtered += front.counts.filtered;
    result.pareto += front.counts.pareto;
  }
  return result;
}

Passes::Passes(const PassesInput& input, chip::Chip chip, const tile::TileModel& tiles,
               const Options& options)
    : graph_(input.graph),
      slice_(input.slice != nullptr ? std::optional(*input.slice) : std::nullopt),
      chip_(std::move(chip)),
      tiles_(tiles),
      keeps_(options.kept != nullptr),
      counts_{} {
  schedule::Problem all = problem(graph_, options);
  counts_ = counts(all.fronts());
  alone_ = schedule::fastest_alone(all);
  last_ = std::make_unique<SearchProgress>(std::move(all), options.effort);
  if (slice_) {
    of_slice_ = std::make_unique<SearchProgress>(problem(slice_->graph, options), options.effort);
  }
}

/// `graph`, which must live as long, with the fronts of its ops.
schedule::Problem Passes::problem(ir::Graph& graph, const Options& options) {
  Fronts distinct = fronts(graph, chip_, tiles_, options);
  if (!options.plans.empty()) {  // Layers with other plans are not alike.
    graph.repeat = ir::find_repeat(graph, distinct.front_of);
  }
  return {graph,
          chip_,
          tiles_,
          {.all = std::move(distinct.fronts), .of = std::move(distinct.front_of)},
          {.threads = options.threads,
           .known = options.kept != nullptr ? &options.kept->known() : nullptr}};
}

schedule::SearchOptions Passes::search_options(const ir::Graph& graph,
                                               const Options& options) const {
  return {.policy = options.policy,
          .effort = options.effort,
          .threads = options.threads,
          .judge = judge(graph, chip_, tiles_, options.threads, options.kept),
          .watch = options.watch};
}

/// Has policies propose up to the asked one, and keeps what those passed by would have found.
void Passes::search_to(const Options& options) {
  const std::vector<schedule::Policy> policies = schedule::policies_to(options.policy);
  for (; reached_ < policies.size(); ++reached_) {
    Options next = options;
    if (keeps_ && reached_ > 0 && told_[static_cast<std::size_t>(policies[reached_ - 1])].empty()) {
      next.policy = policies[reached_ - 1];
      last_->searches.settle(search_options(graph_, next));
      passed_[reached_ - 1] = std::make_unique<SearchProgress>(*last_);
    }
    next.policy = policies[reached_];
    schedule::SearchOptions asked = search_options(graph_, next);
    const std::optional<schedule::Schedule> of_slice = found_of_slice(next);
    if (of_slice) {
      asked.handed = [&](schedule::Problem& problem) { return repeated(*of_slice, problem); };
    }
    last_->searches.propose(asked);
  }
}

/// What the policy finds for one slice, if there are slices and one fits.
std::optional<schedule::Schedule> Passes::found_of_slice(const Options& options) {
  if (!of_slice_) {
    return std::nullopt;
  }
  const schedule::SearchOptions asked = search_options(slice_->graph, options);
  of_slice_->searches.propose(asked);
  try {
    return of_slice_->searches.best(asked).schedule;
  } catch (const Infeasible&) {
    return std::nullopt;
  }
}

/// The schedule of a slice for all of them, one after another: with preloads as early as they find
/// room, and as they are issued in the slice.
std::vector<schedule::Proposal> Passes::repeated(const schedule::Schedule& of_slice,
                                                 schedule::Problem& problem) const {
  const Bytes room = chip::room(chip_);
  schedule::Proposal early{.choices = {},
                           .space = {.room = room, .preload_room = room, .not_before = {}}};
  for (const OpId op : slice_->op_of.ids()) {
    const OpId like = slice_->op_of[op];
    schedule::Choice choice = of_slice.ops[like];
    choice.option = problem.add(op, of_slice_->problem.option(like, choice).plan).value();
    early.choices.push_back(choice);
  }
  if (of_slice.preload_order != of_slice_->problem.loaded()) {
    early.order = repeated_order(of_slice.preload_order, slice_->op_of, problem.loaded());
  }
  schedule::Proposal same = early;
  same.space.not_before = repeated_slots(of_slice, slice_->op_of);
  return {std::move(early), std::move(same)};
}

PlanAndIdeal Passes::made(schedule::Problem& problem, schedule::Found found,
                          const Options& options) const {
  const schedule::Ideal ideal = schedule::ideal(
      problem, *alone_, found.considered, {.most = tuning::kIdealWork, .threads = options.threads});
  Plan plan{.policy = options.policy,
            .shard = {},
            .ops = {},
            .fronts = {},
            .front_of = problem.front_of(),
            .schedule = {},
            .program = {},
            .predicted = {},
            .bounds = *bounds_,
            .parts = {},
            .raw = {0},
            .origin = options.policy,
            .occupancy = {},
            .search = counts_};
  plan.bounds.ideal = ideal.times.total;
  PlanAndIdeal result{.plan = plan, .ideal = {}};
  fill_ideal(problem, ideal, plan);
  plan.fronts = problem.fronts();
  result.ideal = std::make_shared<const Plan>(std::move(plan));
  result.plan.least = std::move(found.least);
  result.plan.aimed = aim(problem, options, found);
  result.plan.simulated = found.judged;
  fill_found(problem, std::move(found), options.threads, result.plan);
  result.plan.fronts = problem.fronts();
  return result;
}

/// The ideal and the aim add plans of ops to a problem, which the policies above must not meet.
PlanAndIdeal Passes::found_by(const Options& options) {
  const std::size_t at = schedule::step(options.policy);
  const schedule::SearchOptions asked = search_options(graph_, options);
  const bool passed = at + 1 < reached_;
  const std::unique_ptr<SearchProgress> before = passed ? std::move(passed_[at]) : nullptr;
  if (!passed) {
    parallel_for_index(2, options.threads, [&](std::size_t job) {
      if (job == 1) {
        search_to(options);
      } else if (!bounds_) {
        bounds_ = schedule::bounds(last_->problem, alone_->times.total);
      }
    });
  }
  SearchProgress& stage = passed ? *before : *last_;
  schedule::Found found = stage.searches.best(asked);
  if (passed || !keeps_ || options.policy == schedule::highest()) {
    return made(stage.problem, std::move(found), options);
  }
  schedule::Problem own(stage.problem);
  return made(own, std::move(found), options);
}

PlanAndIdeal Passes::compiled(const Options& options) {
  PolicyAnswer& told = told_[static_cast<std::size_t>(options.policy)];
  if (told.empty()) {
    sound_ = false;
    try {
      told.made = found_by(options);
    } catch (const Infeasible&) {
      told.why_not = std::current_exception();
    }
    if (keeps_ && options.policy == schedule::highest()) {
      last_.reset();  // No policy continues from here, and those below have stages of their own.
    }
    sound_ = !Watch::stops(options.watch);
  }
  if (!told.made) {
    std::rethrow_exception(told.why_not);
  }
  return keeps_ ? *told.made : *std::move(told.made);
}

PlanAndIdeal compiled_on(const PassesInput& input, const chip::Chip& chip,
                         const tile::TileModel& tiles, const Options& options, BoundsBook& spaces) {
  check_capacity(input.graph, chip);
  const bool is_step = schedule::entry(options.policy).starts == schedule::Starts::Below;
  if (options.kept != nullptr && is_step) {
    const std::shared_ptr<Passes> kept = options.kept->passes(input, chip, tiles, options);
    const std::unique_lock<std::mutex> held(kept->mutex(), std::try_to_lock);
    if (held && kept->sound()) {
      return compiled_by(*kept, options, spaces);
    }
  }
  Passes afresh(input, chip, tiles, options);
  return compiled_by(afresh, options, spaces);
}

}  // namespace elk::compile
