#include "elk/compile/judge.hpp"

#include <array>
#include <span>
#include <vector>

#include "elk/compile/aim.hpp"
#include "elk/compile/compile_tuning.hpp"
#include "elk/compile/simulate.hpp"

namespace elk::compile {
namespace {

bool are_near(const Plan& a, const Plan& b) {
  const auto one = static_cast<double>(a.predicted.total.value);
  const auto other = static_cast<double>(b.predicted.total.value);
  return one < tuning::kFarApart * other && other < tuning::kFarApart * one;
}

double simulated(const Rival& rival, const tile::TileModel& tiles, const Options& options) {
  if (!rival.plan.simulated) {
    const std::array<const program::Program*, 1> alone{&rival.plan.program};
    rival.plan.simulated =
        judge(rival.graph, rival.chip, tiles, options.threads, options.kept)(alone).front();
  }
  return rival.plan.simulated->value;
}

}  // namespace

schedule::Judge judge(const ir::Graph& graph, const chip::Chip& chip, const tile::TileModel& tiles,
                      int threads, Kept* kept) {
  return [&, threads, kept](std::span<const program::Program* const> programs) {
    std::vector<Seconds> times;
    times.reserve(programs.size());
    for (const sim::Run& run : simulate_alike(graph, chip, programs, tiles, threads, kept)) {
      times.push_back(to_seconds(run.total));
    }
    return times;
  };
}

bool beats(const Rival& best, const Rival& plan, const tile::TileModel& tiles,
           const Options& options) {
  if (plan.plan.aimed || !are_near(best.plan, plan.plan)) {
    return worth(plan.plan) < worth(best.plan);
  }
  return simulated(plan, tiles, options) < simulated(best, tiles, options);
}

bool beats(const ir::Graph& graph, const chip::Chip& pod, const tile::TileModel& tiles,
           const Options& options, Plan& best, Plan& plan) {
  const chip::Chip one = chip::one_of(pod);
  const auto rival = [&](Plan& some) {
    return Rival{.graph = some.shard ? some.shard->graph : graph,
                 .chip = some.pod == Pod::Sharded ? one : pod,
                 .plan = some};
  };
  return beats(rival(best), rival(plan), tiles, options);
}

}  // namespace elk::compile
