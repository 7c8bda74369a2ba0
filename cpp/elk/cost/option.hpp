#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/cost/exchange/exchange.hpp"
#include "elk/partition/collective.hpp"
#include "elk/partition/plan.hpp"

namespace elk::cost {

/// A preload state of the whole op: one divisor for each operand (design 3.4). Without HBM it lasts
/// from the start to the end of a program: an idle state.
struct PreloadState {
  Table<OperandId, std::int64_t> divisor;  // per operand; 0: evenly over all cores, or not from HBM
  Bytes space;                             // per core, from issue to execute, or always
  Bytes spread{0};                         // the part of it that lies evenly over all cores
  Bytes link;                              // per core, received from HBM
  std::int64_t hbm_bytes;                  // over all chips
  std::int64_t chip_hbm_bytes;             // of the busiest chip
  Seconds hbm_time;                        // of the busiest chip, latency aside
  Seconds edge{0.0};                       // in which the busiest node lets it into a grid
  Seconds time;                            // max(hbm_time, link / rate)
  Seconds wire;                            // in which the busiest port or link carries data
  ExchangeCost distribute;                 // the rest, fetched at the execute
  LinkUse use = kEverywhere;               // of a grid, by the preload
};

/// One way to run an op, with its cost alone on the chip.
struct PlanOption {
  partition::ExecutePlan plan;
  partition::Footprint footprint;
  std::int64_t cores;
  std::int64_t steps;
  Seconds compute;      // slowest core, all steps
  ExchangeCost gather;  // activations, `have` empty and even senders
  ExchangeCost shift;   // all shifts of all steps
  ExchangeCost reduce;  // with the adds
  Seconds time;         // gather + compute + shift + reduce
  Bytes exchange;       // busiest core, one execute: gather + shift + reduce
  bool tree;            // a row op adds up its reductions in a tree, not directly
  double padded_flops;
  double extrapolated;               // share of `compute` outside the fitted range
  std::int64_t hbm_bytes;            // over all chips
  std::vector<PreloadState> states;  // Pareto in (space, distribute time); largest space first;
                                     // one state of zeros for an op without HBM data
  partition::CollectiveAlgorithm way =
      partition::CollectiveAlgorithm::Direct;  // of a collective: the cheaper one
};

}  // namespace elk::cost
