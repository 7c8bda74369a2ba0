#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/cost/front/estimate.hpp"
#include "elk/ir/graph.hpp"
#include "elk/shard/split.hpp"
#include "elk/tile/tile.hpp"

namespace elk::shard {

/// An op on one chip, without HBM.
struct ChipExecute {
  cost::Estimate about;  // a fast plan
  Seconds least;         // what none undercuts
};
using ExecuteTime = std::function<ChipExecute(const ir::Op& on_one_chip)>;

/// By a few cuts (`cost::estimate`), and by its tiles at the best rate over all cores of a chip.
[[nodiscard]] ExecuteTime by_cuts(const ir::Graph& graph, const chip::Chip& pod,
                                  const tile::TileModel& tiles);

/// What one chip does of an op under one split.
struct SplitCost {
  Split split;
  Picoseconds time;   // the longest of its execute, its HBM bytes, and these beside its exchanges
  Picoseconds least;  // of its execute, whatever the plan
  Bytes hbm;          // read, of weights and states
  Bytes kept;         // of weights and states, what is picked from whole
  Bytes working;      // of all that it touches, in SRAM at least
};

/// How fast the HBM of one chip brings weights and states to its cores.
class HbmTimes {
 public:
  explicit HbmTimes(const chip::Chip& chip);

  /// What one chip's HBM takes, and on a mesh the links that data enter by. Nothing without HBM.
  [[nodiscard]] Seconds time(Bytes bytes) const;
  /// The least of that time: without what lies behind the links that data enter by.
  [[nodiscard]] Seconds least(Bytes bytes) const;
  /// What an op takes at least that reads `bytes` on each chip: the port of a core receives its
  /// share of them beside what the execute exchanges.
  [[nodiscard]] Seconds beside(const cost::Estimate& execute, Bytes bytes) const;

 private:
  const chip::Chip& chip_;
  double rate_ = 0.0;
  double injection_ = 0.0;
};

/// What the whole op reads from HBM, of a table that is picked from what is expected.
[[nodiscard]] Bytes loaded_bytes(const ir::Graph& graph, const ir::Op& op);

/// The parts under each way to split the op, that on every chip first.
[[nodiscard]] std::vector<SplitCost> parts(const ir::Graph& graph, const ir::Op& op,
                                           const HbmTimes& loading, const PartLengths& lengths,
                                           const ExecuteTime& execute);

}  // namespace elk::shard
