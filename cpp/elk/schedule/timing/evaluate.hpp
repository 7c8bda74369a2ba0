#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/cost/forecast.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/schedule.hpp"

namespace elk::schedule {

/// How choices are timed: as the chip runs them, or as the ideal does (design 6.5), by whose rules
/// an execute finds what its preload left at peers for nothing.
enum class TimingRules : std::uint8_t { Chip, Ideal };

/// What choices amount to, op by op: times for the forecast, bytes for the capacity rule.
struct Situation {
  Table<OpId, cost::ExecuteCost> works;
  Table<OpId, cost::PreloadCost> loads;
  Table<OpId, Bytes> base;   // in use at the execute, preload buffers aside
  Table<OpId, Bytes> piece;  // of the op's own preload, from issue to execute
  Table<OpId, Bytes> rest;   // of the op's result, per core
  Bytes idle{0};             // of all ops, all the time: what they keep without HBM
};
[[nodiscard]] Situation situation(Problem& problem, const Table<OpId, Choice>& choices,
                                  TimingRules rules = TimingRules::Chip);

/// The situation before neighbours are known: nothing an op reads is where it needs it.
[[nodiscard]] Situation estimate(const Problem& problem, const Table<OpId, Choice>& choices);

/// The first and the last execute during which a result lies on chip.
struct Lifetime {
  OpId first;
  OpId last;
};

/// What one op adds to its situation.
struct OpSituation {
  cost::ExecuteCost work;
  cost::PreloadCost load;
  Bytes own;  // in use at the execute beyond tensors at rest, its own preload and idle bytes
  Bytes piece;
  Bytes rest;
};
[[nodiscard]] OpSituation part(const Problem& problem, OpId op, const Choice& choice,
                               const InPlaceCost& in_place, TimingRules rules = TimingRules::Chip);

/// Bytes that a plan holds of weights and states during its execute, per core.
[[nodiscard]] Bytes hbm_bytes(const Problem& problem, const cost::PlanOption& option);

/// The last execute at which `tensor` must still rest; stored ones wait for the queue, about until
/// the next op that is loaded.
[[nodiscard]] OpId last_use(const Problem& problem, TensorId tensor);

/// Bytes of each tensor at rest, summed over those alive at each execute.
[[nodiscard]] Table<OpId, Bytes> live_bytes(const Problem& problem,
                                            const Table<OpId, Choice>& choices);

/// Limits on what preloads may occupy.
struct PreloadLimits {
  Bytes room;                    // everything together
  Bytes preload_room;            // preload buffers of ops that wait for their execute
  Table<OpId, OpId> not_before;  // per op: its preload's first slot; empty: no limit
};

/// An op whose execute and own preload overflow by themselves.
struct Shortage {
  OpId op;
  Bytes excess;
};

/// How many preloads are issued before each execute, or the op that does not fit.
struct Issue {
  Table<OpId, std::int32_t> issued_before;
  std::optional<Shortage> shortage;
};

/// Issues preloads in `order`, each as early as its space stays free until its execute: `base` and
/// `piece` as in a situation, `earliest` the first slot of each op's preload. None may come later
/// than the execute of any op behind it in `order`, for whose own preload there is always room
/// left.
[[nodiscard]] Issue issue_in_order(const Table<OpId, Bytes>& base, const Table<OpId, Bytes>& piece,
                                   const std::vector<OpId>& order,
                                   const Table<OpId, OpId>& earliest, Bytes room);

/// Issues preloads in `order` within `space`.
[[nodiscard]] Issue issue(const Problem& problem, const Situation& situation,
                          const std::vector<OpId>& order, const PreloadLimits& space);

/// The forecast of a schedule.
[[nodiscard]] cost::TimelineResult timing(const Problem& problem, const Situation& situation,
                                          const std::vector<OpId>& order,
                                          const Table<OpId, std::int32_t>& issued_before);

/// What is written back, in the order of the ops that make it; nothing without HBM.
[[nodiscard]] std::vector<ir::Store> stores(const Problem& problem);

/// Writes of new state rows: what they cost the HBM (design 2.4), and the ports of the cores on
/// which they rest, `rest[op]` bytes on each.
[[nodiscard]] std::vector<cost::WriteBack> write_backs(const Problem& problem,
                                                       const Table<OpId, Bytes>& rest);

}  // namespace elk::schedule
