#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "schedule/models.hpp"

/// What policies decide upon, from models or made up.
namespace elk::test {

/// The problem of `graph` on `chip` with real fronts; both must outlive it, and `tiles` too.
inline schedule::Problem problem(const ir::Graph& graph, const chip::Chip& chip,
                                 const tile::TileModel& tiles,
                                 const cost::Constraints& constraints = {},
                                 const schedule::LinkCountOptions& counting = {}) {
  std::vector<cost::Front> fronts;
  Table<OpId, std::int32_t> front_of;
  std::map<OpId, std::int32_t> known;
  for (const OpId first : ir::equal_ops(graph)) {
    const auto [found, added] = known.emplace(first, static_cast<std::int32_t>(fronts.size()));
    if (added) {
      fronts.push_back(cost::front(graph, graph.ops[first], chip, tiles, constraints));
    }
    front_of.push_back(found->second);
  }
  return {graph, chip, tiles, {.all = std::move(fronts), .of = std::move(front_of)}, counting};
}

/// Whether every op has a plan.
inline bool all_fit(const schedule::Problem& problem) {
  return std::all_of(problem.fronts().begin(), problem.fronts().end(),
                     [](const cost::Front& front) { return !front.options.empty(); });
}

/// A preload state of which only space and times are known.
inline cost::PreloadState made_state(std::int64_t bytes, double distribute, double load) {
  return {.divisor = {},
          .space = {bytes},
          .link = {0},
          .hbm_bytes = 0,
          .chip_hbm_bytes = 0,
          .hbm_time = {load},
          .time = {load},
          .wire = {0.0},
          .distribute = {
              .time = {distribute}, .bytes = {0}, .wire = {0.0}, .tail = {0.0}, .crossing = {0}}};
}

/// A plan of which only space, compute time and preload states are known. All of its space is
/// that of one weight.
inline cost::PlanOption made_option(std::int64_t bytes, double compute,
                                    std::vector<cost::PreloadState> states,
                                    TensorId weight = TensorId{1}) {
  cost::PlanOption option{};
  option.footprint.tensors = {weight};
  option.footprint.tensor = {{bytes}};
  option.footprint.space = {bytes};
  option.compute = {compute};
  option.time = {compute};
  option.cores = 1;
  option.steps = 1;
  option.states = std::move(states);
  return option;
}

inline cost::Front made_front(std::vector<cost::PlanOption> options) {
  cost::Front front{};
  front.options = std::move(options);
  return front;
}

/// A chip without latency, so that made-up times add up to round numbers.
inline chip::Chip prompt_chip(std::int64_t sram) {
  chip::Chip chip = tight_chip(4, sram);
  chip.hbm->latency = {0.0};
  return chip;
}

}  // namespace elk::test
