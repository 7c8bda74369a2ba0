#include "elk/compile/judge.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "elk/compile/simulate.hpp"

namespace elk::compile {
namespace {

constexpr std::int64_t kMostJudged = 4096;  // nodes of a grid

}  // namespace

bool judges(const chip::Chip& chip) {
  return !chip::is_mesh(chip) || chip::total_cores(chip) <= kMostJudged;
}

schedule::Judge judge(const ir::Graph& graph, const chip::Chip& chip, const cost::TileModel& tiles,
                      int threads) {
  if (!judges(chip)) {
    return {};
  }
  return [&, threads](std::span<const program::Program* const> programs) {
    std::vector<Seconds> times;
    times.reserve(programs.size());
    for (const sim::Run& run : simulate_alike(graph, chip, programs, tiles, threads)) {
      times.push_back(to_seconds(run.total));
    }
    return times;
  };
}

double judged(const ir::Graph& graph, const chip::Chip& chip, const cost::TileModel& tiles,
              const Plan& plan, const std::optional<Seconds>& simulated) {
  if (plan.aimed) {
    return plan.aimed->worth;
  }
  if (simulated) {
    return simulated->value;
  }
  const schedule::Judge by = judge(graph, chip, tiles, 1);
  const bool runs = plan.policy != schedule::Policy::Ideal;
  const std::array<const program::Program*, 1> alone{&plan.program};
  return (by && runs ? by(alone).front() : to_seconds(plan.predicted.total)).value;
}

double judged(const ir::Graph& graph, const chip::Chip& pod, const cost::TileModel& tiles,
              const Plan& plan) {
  const ir::Graph& runs = plan.shard ? plan.shard->graph : graph;
  return plan.pod == Pod::Sharded ? judged(runs, chip::one_of(pod), tiles, plan, {})
                                  : judged(runs, pod, tiles, plan, {});
}

}  // namespace elk::compile
