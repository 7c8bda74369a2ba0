#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "elk/base/shelf.hpp"
#include "elk/sim/play/work.hpp"

namespace elk::sim {

/// What one of the executions of a program does, and on which cores.
struct ExecuteRecord {
  ExecuteStages work;
  std::vector<std::int32_t> cores;
};

/// The cores that run tile calls of an execution, in order.
[[nodiscard]] inline std::vector<std::int32_t> cores_of(const program::Execution& execution) {
  std::vector<std::int32_t> cores;
  for (const program::Tiles& tiles : execution.tiles) {
    cores.insert(cores.end(), tiles.cores.begin(), tiles.cores.end());
  }
  std::sort(cores.begin(), cores.end());
  return cores;
}

using ExecutedOnce = std::shared_ptr<const ExecuteRecord>;
using DemandOnce = std::shared_ptr<const Demand>;

/// About what they take.
[[nodiscard]] inline std::size_t bytes_of(const Demand& demand) {
  return sizeof(Demand) + (demand.kind_of.size() * sizeof(std::int32_t)) +
         (demand.kinds.size() * sizeof(ResourceLoad));
}

[[nodiscard]] inline std::size_t bytes_of(const ExecuteRecord& executed) {
  std::size_t bytes = sizeof(ExecuteRecord) + (executed.cores.size() * sizeof(std::int32_t)) +
                      (executed.work.stages.size() * sizeof(Stage));
  const Demand* last = nullptr;
  for (const Stage& stage : executed.work.stages) {
    if (stage.asks.get() != last) {
      last = stage.asks.get();
      bytes += bytes_of(*last);
    }
  }
  return bytes;
}

/// What executions, preloads and stores of programs ask for under one tile model, by all that it
/// depends on: the fidelity, `Simulation::machine` or `memory`, and a signature of
/// `program::Expander`.
struct Executions {
  Shelf<std::string, ExecutedOnce> executed{std::size_t{40} << 20U};
  Shelf<std::string, DemandOnce> loads{std::size_t{16} << 20U};
};

}  // namespace elk::sim
