#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/cost/exchange.hpp"
#include "elk/cost/holding.hpp"
#include "elk/cost/standing.hpp"
#include "elk/cost/tile.hpp"
#include "elk/ir/graph.hpp"
#include "elk/partition/collective.hpp"
#include "elk/partition/layout.hpp"
#include "elk/partition/plan.hpp"

namespace elk::cost {

/// A preload state of the whole op: one divisor for each operand (design 3.4).
struct PreloadState {
  std::vector<std::int64_t> divisor;  // per operand; 0: not from HBM
  Bytes space;                        // per core, from issue to execute
  Bytes link;                         // per core, received from HBM
  std::int64_t hbm_bytes;             // over all chips
  std::int64_t chip_hbm_bytes;        // of the busiest chip
  Seconds hbm_time;                   // of the busiest chip, latency aside
  Seconds time;                       // max(hbm_time, link / rate)
  Seconds wire;                       // of that, in which the busiest port or link carries data
  Exchange distribute;                // the rest, fetched from peers at the execute
  LinkUse use = kEverywhere;          // of a grid, by the preload
};

/// One way to run an op, with its cost alone on the chip.
struct PlanOption {
  partition::ExecutePlan plan;
  partition::Footprint footprint;
  std::int64_t cores;
  std::int64_t steps;
  Seconds compute;  // slowest core, all steps
  Exchange gather;  // activations, `have` empty and even senders
  Exchange shift;   // all shifts of all steps
  Exchange reduce;  // with the adds
  Seconds time;     // gather + compute + shift + reduce
  Bytes exchange;   // busiest core, one execute: gather + shift + reduce
  bool tree;        // a row op adds up its reductions in a tree, not directly
  double padded_flops;
  double extrapolated;               // share of `compute` outside the fitted range
  std::int64_t hbm_bytes;            // over all chips
  std::vector<PreloadState> states;  // Pareto in (space, distribute time); largest space first;
                                     // one state of zeros for an op without HBM data
  partition::Way way = partition::Way::Direct;  // of a collective: the cheaper one
};

struct Constraints {
  double min_core_share = 0.0;  // of the chip's cores; 0: free
  double max_padding = 0.0;     // padded / original of any tensor; 0: free
  /// Where an op has thousands of cuts, a plan is left out of its front when a kept one needs at
  /// most this share more in space, exchange and time, and no more HBM bytes; 0: never. The fastest
  /// plan and the floor are those of the whole space all the same.
  double thinning = 0.005;
  /// Cuts of a vast space that the floor and the fastest plan look at closely; what lies beyond
  /// counts with the best rates of tiles.
  std::int64_t looks = 13'000;
};

struct Counts {
  std::int64_t complete;  // F_op x f_t
  std::int64_t filtered;  // that pass the constraints and fit SRAM
  std::int64_t pareto;
};

/// What one cut of the op needs at least, however its operands lie or rotate (design 6.5).
struct Corner {
  Seconds execute;         // tiles and reductions, gathers and shifts free
  Bytes link;              // received by all cores, HBM operands at execute size, over all cores
  std::int64_t hbm_bytes;  // of the busiest chip

  friend bool operator==(const Corner&, const Corner&) = default;
};

/// How one cut uses the cores' ports at least. Bytes are received by all cores, over all cores.
struct PortUse {
  Seconds idle;   // of the execute, in which none of its exchanges carries data
  Bytes carried;  // by its exchanges
  Bytes loaded;   // HBM operands at execute size, preloaded or fetched

  friend bool operator==(const PortUse&, const PortUse&) = default;
};

/// The least that any plan of the unfiltered space needs, in each corner (design 6.5).
struct Floor {
  Seconds execute;  // min of tiles and reductions; gathers, shifts and distribution free
  Seconds compute;  // min of the tile time alone
  Bytes link;       // min over plans of bytes received by one core with HBM operands whole
  std::int64_t hbm_bytes = 0;      // of the busiest chip, min over plans
  std::vector<Corner> corners;     // their Pareto front: min of a e + b r + c h for any a, b, c
  std::vector<PortUse> port_uses;  // their Pareto front, too
  std::shared_ptr<const Standing> standing;  // by how its activations lie; null: nothing is known
  std::vector<Holding> holdings;  // what it needs of SRAM, the faster the more; may not be known
};

/// The Pareto front of an op in (space, time, exchange bytes, HBM bytes), `have` empty.
struct Front {
  std::vector<PlanOption> options;  // first the Pareto plans, then others worth having; each by
                                    // time, then space, then factors
  Counts counts;
  std::int32_t fastest;  // ideal's plan: fastest of the unfiltered space that fits SRAM
  Floor floor;
  Bytes smallest;  // least space of any plan, whether it fits or not
};
[[nodiscard]] Front front(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
                          const TileModel& tiles, const Constraints& constraints);

/// Whether an op has more cuts than a search looks at one by one.
[[nodiscard]] bool is_vast(const ir::Op& op, const chip::Chip& chip);

/// Costs of one given plan, as `front` would give them.
[[nodiscard]] PlanOption price(const ir::Graph& graph, const ir::Op& op,
                               const partition::ExecutePlan& plan, const chip::Chip& chip,
                               const TileModel& tiles);

/// The gather of all activations in one exchange, as an execute does it: bytes and fragments add
/// up, the sync is paid once. `moved` holds for each operand what crosses from where it rests to
/// its start layout, null: it comes from everywhere.
[[nodiscard]] Exchange gather_all(const ir::Graph& graph, const ir::Op& op,
                                  const PlanOption& option,
                                  std::span<const partition::Transition* const> moved,
                                  const chip::Chip& chip);

/// The same plan with another order of its cut axes: an equal cost alone, another core map.
[[nodiscard]] PlanOption reordered(const ir::Graph& graph, const ir::Op& op,
                                   const PlanOption& option, std::vector<std::int32_t> order,
                                   const chip::Chip& chip);

}  // namespace elk::cost
