#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/watch.hpp"
#include "elk/chip/chip.hpp"
#include "elk/compile/kept.hpp"
#include "elk/compile/named_plans.hpp"
#include "elk/cost/front/front.hpp"
#include "elk/cost/option.hpp"
#include "elk/ir/graph.hpp"
#include "elk/ir/rounds.hpp"
#include "elk/program/program.hpp"
#include "elk/schedule/improve/orders.hpp"
#include "elk/schedule/improve/reconcile.hpp"
#include "elk/schedule/policies/registry.hpp"
#include "elk/schedule/problem/objective.hpp"
#include "elk/schedule/problem/schedule.hpp"
#include "elk/shard/one_chip.hpp"
#include "elk/sim/play/run.hpp"
#include "elk/tile/tile.hpp"

namespace elk::compile {

/// How the chips of a pod work together: each on its part of the model, or all cores as one
/// machine.
enum class Pod : std::uint8_t { Sharded, Pooled };

struct Options {
  schedule::Policy policy = schedule::Policy::ElkFull;
  schedule::Effort effort = schedule::Effort::Default;
  schedule::Objective objective = schedule::Objective::Latency;
  Pod pod = Pod::Sharded;
  std::int32_t threads = 0;  // 0: as many as the machine has
  cost::Constraints constraints = {};
  Watch* watch = nullptr;  // of ELK-Full
  Kept* kept = nullptr;    // of earlier compiles under the same tile model; null: nothing
  bool waves = true;       // whether ops that are large for SRAM may go in waves
  std::vector<GivenPlans> plans = {};  // NOLINT(readability-redundant-member-init)
};

/// One op as planned: its option with the core map in force, and its costs in place.
struct PlannedOp {
  cost::PlanOption option;  // costs alone, `have` empty, except `gather`, `time`, `exchange`:
                            // those of the true pair of layouts
  cost::PreloadState state;
  bool has_preload;
  std::int32_t front;      // in Plan::fronts
  std::int32_t choice;     // in that front's options
  ir::Rounds rounds = {};  // of `option`, under a virtual global memory
};

/// Which part of which tensor another is, before anything went in waves.
struct PlannedPart {
  std::string of;
  Table<DimId, std::int64_t> begin;
};

struct Search {
  std::int64_t complete;  // plans, summed over distinct ops
  std::int64_t filtered;
  std::int64_t pareto;
  schedule::OrderSearch orders;
  // Of T10. GCC wants the initializer.
  std::vector<schedule::IdlePoint> explored = {};  // NOLINT(readability-redundant-member-init)
};

/// What a plan for another objective than latency is forecast to reach, over all chips; beside it
/// the plan that serves latency best, which it is never worse than.
struct Aimed {
  schedule::Objective objective;
  double joules;
  double worth;  // joules, or joule seconds
  Picoseconds shortest;
  double shortest_joules;
};

struct Plan {
  schedule::Policy policy;
  // What was planned instead of the whole graph: by one chip, or with ops in waves.
  std::optional<shard::OneChip> shard;
  Table<OpId, PlannedOp> ops;
  std::vector<cost::Front> fronts;     // of the distinct ops
  Table<OpId, std::int32_t> front_of;  // per op
  schedule::Schedule schedule;
  program::Program program;  // no buffers where the policy makes forecasts
  schedule::Forecast predicted;
  schedule::Bounds bounds;
  Table<TensorId, PlannedPart> parts;  // of each tensor; empty where nothing goes in waves
  Picoseconds raw;                     // the policy's own result, before "never worse"
  schedule::Policy origin;             // whose schedule the plan carries (design 6.6)
  std::vector<Bytes> occupancy;        // per core, at every instruction
  Search search;
  std::optional<Aimed> aimed = std::nullopt;  // none: at latency
  Pod pod = Pod::Pooled;  // how chips work together; one chip is a pod of its own
  // For each policy up to this one, lowest first, the shortest forecast of what it placed;
  // infinite: nothing. Empty of a forecast.
  std::vector<Seconds> least = {};                  // NOLINT(readability-redundant-member-init)
  std::optional<Seconds> simulated = std::nullopt;  // if plans had to be told apart by simulation
  std::shared_ptr<const sim::Run> run = nullptr;    // at `fidelity(chip)`, if it was asked for
};

/// How the chips of a pod share a model, after the checks of what enters.
[[nodiscard]] shard::Sharding shard(const ir::Graph& graph, const chip::Chip& chip,
                                    const tile::TileModel& tiles, int threads = 0);

/// The passes in order: sharding where several chips share the model, fronts, schedule, program,
/// placement, check, forecast, bounds. Under `Sharded` all of the plan is that of one chip.
[[nodiscard]] Plan compile(const ir::Graph& graph, const chip::Chip& chip,
                           const tile::TileModel& tiles, const Options& options);

}  // namespace elk::compile
