/// How fast the simulator's engine is. An *event* here is the start or the end of a flow, each of
/// which changes who shares what, or a timer that rings. Its cost is all that the engine does for
/// it: shares found anew, amounts moved, the agenda, and handing it to the caller.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "chip/chips.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/sim/flows/engine.hpp"
#include "elk/sim/network/machine_network.hpp"

namespace elk::sim {
namespace {

Machine links(std::int64_t count) {
  return {
      .resources = std::vector<Resource>(static_cast<std::size_t>(count), steady({5'500'000'000})),
      .refresh = {}};
}

void count_events(benchmark::State& state, std::int64_t events) {
  state.counters["events"] =
      benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}

/// Each of `range` links carries one flow at a time, of a random size; when it ends the next
/// starts.
void BM_LoneFlows(benchmark::State& state) {
  const std::int64_t lanes = state.range(0);
  Engine engine(links(lanes));
  Random random{1};
  const auto start = [&](Tag lane) {
    const ResourceUse use{id_at<ResourceId>(lane), 1};
    engine.start({.tag = lane,
                  .bytes = {1 + random.below(1 << 20)},
                  .cap = {0},
                  .latency = {0},
                  .uses = {&use, 1}},
                 engine.now());
  };
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    start(lane);
  }
  std::int64_t events = 0;
  std::vector<Event> ended;
  for (auto _ : state) {
    const auto now = engine.next();
    ended.assign(now.begin(), now.end());
    for (const Event& event : ended) {
      start(event.tag);
      events += 2;
    }
  }
  count_events(state, events);
}
BENCHMARK(BM_LoneFlows)->Arg(1)->Arg(64)->Arg(4096);

/// A run of `range` flows over 64 links from beginning to end: its cost is linear in events.
void BM_Run(benchmark::State& state) {
  for (auto _ : state) {
    Engine engine(links(64));
    Random random{1};
    std::vector<Event> ended;
    std::int64_t left = state.range(0);
    for (Tag lane = 0; lane < 64; ++lane) {
      ended.push_back({{0}, EventKind::FlowEnd, lane});
    }
    while (!ended.empty()) {
      for (const Event& event : ended) {
        const ResourceUse use{id_at<ResourceId>(event.tag), 1};
        if (left-- > 0) {
          engine.start({.tag = event.tag,
                        .bytes = {1 + random.below(1 << 20)},
                        .cap = {0},
                        .latency = {0},
                        .uses = {&use, 1}},
                       engine.now());
        }
      }
      const auto now = engine.next();
      ended.assign(now.begin(), now.end());
    }
  }
  count_events(state, 2 * state.range(0) * static_cast<std::int64_t>(state.iterations()));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(BM_Run)->RangeMultiplier(10)->Range(1000, 1000000)->Complexity(benchmark::oN);

/// Timers alone: what the order of events costs.
void BM_Timers(benchmark::State& state) {
  Engine engine(links(1));
  Random random{1};
  for (std::int64_t timer = 0; timer < state.range(0); ++timer) {
    engine.start_timer(timer, {random.below(1 << 20)});
  }
  std::int64_t events = 0;
  std::vector<Event> rung;
  for (auto _ : state) {
    const auto now = engine.next();
    rung.assign(now.begin(), now.end());
    events += static_cast<std::int64_t>(rung.size());
    for (const Event& event : rung) {
      engine.start_timer(event.tag, engine.now() + Picoseconds{1 + random.below(1 << 20)});
    }
  }
  count_events(state, events);
}
BENCHMARK(BM_Timers)->Arg(64)->Arg(4096);

/// Every core of an all-to-all chip of 1,472 sends as much to each of `range` others, again and
/// again: a bulk-synchronous exchange with every flow on its own.
void BM_Exchange(benchmark::State& state) {
  chip::Chip chip = chip::small_chip();
  chip.core.count = 1472;
  const MachineNetwork network(chip);
  std::vector<Path> paths;
  for (std::int32_t from = 0; from < 1472; ++from) {
    for (std::int32_t k = 1; k <= state.range(0); ++k) {
      paths.push_back(network.path(CoreId{from}, CoreId{(from + (k * 31)) % 1472}));
    }
  }
  Engine engine(network.machine());
  std::int64_t events = 0;
  for (auto _ : state) {
    for (const Path& path : paths) {
      engine.start(
          {.tag = 0, .bytes = {4096}, .cap = {0}, .latency = path.latency, .uses = path.uses},
          engine.now());
    }
    while (!engine.next().empty()) {
    }
    events += 2 * static_cast<std::int64_t>(paths.size());
  }
  count_events(state, events);
}
BENCHMARK(BM_Exchange)->Arg(1)->Arg(4)->Arg(16)->Unit(benchmark::kMillisecond);

/// The resources of a square mesh with HBM all around.
void BM_MeshSetUp(benchmark::State& state) {
  const chip::Chip chip = chip::small_mesh(state.range(0), state.range(0));
  for (auto _ : state) {
    const MachineNetwork network(chip);
    const Engine engine(network.machine());
    benchmark::DoNotOptimize(engine.now());
  }
}
BENCHMARK(BM_MeshSetUp)->Arg(64)->Arg(256)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace elk::sim
