#include "elk/compile/bounds_book.hpp"

#include <memory>
#include <utility>

#include "elk/compile/judge.hpp"
#include "elk/compile/simulate.hpp"
#include "elk/schedule/bound/bounds.hpp"

namespace elk::compile {
namespace {

/// What ran, as a forecast.
schedule::Forecast forecast(const sim::Run& run) {
  schedule::Forecast result{.ops = {}, .stores = {}, .total = run.total};
  for (const sim::OpRun& op : run.ops) {
    result.ops.push_back({.preload = op.preload, .execute = op.execute});
  }
  for (const sim::StoreRun& store : run.stores) {
    result.stores.push_back({.tensor = store.tensor, .store = store.store});
  }
  return result;
}

/// A policy's plan as the ideal's forecast, which has no program to place.
Plan as_ideal(const Plan& plan, schedule::Forecast times) {
  Plan result = plan;
  result.policy = schedule::Policy::Ideal;
  result.origin = schedule::Policy::Ideal;
  result.program = {};
  result.program.code = plan.program.code;
  result.occupancy = {};
  result.simulated = {};
  result.run = nullptr;
  result.least = {};
  result.predicted = std::move(times);
  return result;
}

/// Part of a time by which cores told apart may end before equal ones taken together (design 8).
constexpr double kToldApart = 0.01;

/// Whether a run of the plan may be shorter than the ideal, by what the search knows of it.
bool may_undercut(const Plan& plan, const chip::Chip& pod) {
  const bool apart = fidelity(pod) == sim::Fidelity::Core;
  if (!plan.simulated || (apart && chip::routed(pod))) {
    return to_seconds(plan.predicted.total).value < kFarApart * plan.bounds.ideal.value;
  }
  return plan.simulated->value * (apart ? 1.0 - kToldApart : 1.0) < plan.bounds.ideal.value;
}

/// Has the ideal be the plan with these times, if they are shorter.
void undercut(schedule::Forecast times, Plan& plan, BoundsBook& spaces) {
  if (to_picoseconds(plan.bounds.ideal) <= times.total) {
    return;
  }
  plan.bounds.ideal = to_seconds(times.total);
  if (spaces.wants_ideal) {
    spaces.ideal = as_ideal(plan, std::move(times));
  }
}

}  // namespace

Plan concluded(const ir::Graph& graph, const chip::Chip& pod, const tile::TileModel& tiles,
               Plan plan, BoundsBook spaces, Kept* kept) {
  plan.bounds = schedule::least_bounds(spaces.bounds);
  plan.bounds.ideal = spaces.least.value();
  undercut(plan.predicted, plan, spaces);
  if (may_undercut(plan, pod)) {
    const ir::Graph& planned = plan.shard ? plan.shard->graph : graph;
    const chip::Chip machine = plan.pod == Pod::Sharded ? chip::one_of(pod) : pod;
    sim::Run run = simulate(planned, machine, plan.program, tiles, fidelity(pod), kept);
    plan.simulated = to_seconds(run.total);
    undercut(forecast(run), plan, spaces);
    plan.run = std::make_shared<const sim::Run>(std::move(run));
  }
  if (!spaces.wants_ideal) {
    return plan;
  }
  Plan ideal = std::move(spaces.ideal).value();
  ideal.bounds = plan.bounds;
  ideal.raw = ideal.predicted.total;
  return ideal;
}

}  // namespace elk::compile
