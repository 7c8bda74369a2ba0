#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/cost/tile.hpp"
#include "elk/ir/graph.hpp"
#include "elk/train/split.hpp"

namespace elk::train {

/// Seconds of an op on one chip, without HBM.
using ExecuteTime = std::function<Seconds(const ir::Op& on_one_chip)>;

/// Its tiles at the best rate, spread over all cores of a chip: about what a good plan reaches.
[[nodiscard]] ExecuteTime best_rate(const ir::Graph& graph, const chip::Chip& chip,
                                    const cost::TileModel& tiles);

/// What one chip does of an op under one split.
struct Part {
  Split split;
  Picoseconds time;  // the longer of its execute and its HBM bytes
  Bytes hbm;         // of weights and states
};

/// The parts under each way to split the op, that on every chip first.
[[nodiscard]] std::vector<Part> parts(const ir::Graph& graph, const ir::Op& op,
                                      const chip::Chip& chip, const ExecuteTime& execute);

}  // namespace elk::train
