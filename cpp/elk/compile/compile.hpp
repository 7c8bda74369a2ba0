#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/cost/front.hpp"
#include "elk/cost/tile.hpp"
#include "elk/ir/graph.hpp"
#include "elk/program/program.hpp"
#include "elk/schedule/schedule.hpp"

namespace elk::compile {

struct Options {
  schedule::Policy policy = schedule::Policy::ElkFull;
  std::int32_t threads = 0;  // 0: as many as the machine has
  cost::Constraints constraints = {};
};

/// One op as planned: its option with the core map in force, and its costs in place.
struct PlannedOp {
  cost::PlanOption option;  // costs alone, `have` empty, except `gather`, `time`, `exchange`:
                            // those of the true pair of layouts
  cost::PreloadState state;
  bool has_preload;
  std::int32_t front;   // in Plan::fronts
  std::int32_t choice;  // in that front's options
};

struct Search {
  std::int64_t complete;  // plans, summed over distinct ops
  std::int64_t filtered;
  std::int64_t pareto;
  std::int64_t orders_tried;
};

struct Plan {
  schedule::Policy policy;
  std::vector<PlannedOp> ops;
  std::vector<cost::Front> fronts;     // of the distinct ops
  std::vector<std::int32_t> front_of;  // per op
  schedule::Schedule schedule;
  program::Program program;  // no buffers under `Ideal`
  schedule::Forecast predicted;
  schedule::Bounds bounds;
  Picoseconds raw;               // the policy's own result, before "never worse"
  schedule::Policy origin;       // whose schedule the plan carries (design 6.6)
  std::vector<Bytes> occupancy;  // per core, at every instruction
  Search search;
};

/// The passes in order: fronts, schedule, program, placement, check, forecast, bounds.
[[nodiscard]] Plan compile(const ir::Graph& graph, const chip::Chip& chip,
                           const cost::TileModel& tiles, const Options& options);

}  // namespace elk::compile
