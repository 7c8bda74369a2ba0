#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "elk/base/shelf.hpp"
#include "elk/sim/work.hpp"

namespace elk::sim {

/// What one of the executions of a program does, and on which cores.
struct Executed {
  Work work;
  std::vector<std::int32_t> cores;
};

using ExecutedOnce = std::shared_ptr<const Executed>;

/// About what it takes.
[[nodiscard]] inline std::size_t bytes_of(const Executed& executed) {
  std::size_t bytes = sizeof(Executed) + (executed.cores.size() * sizeof(std::int32_t)) +
                      (executed.work.stages.size() * sizeof(Stage));
  const Demand* last = nullptr;
  for (const Stage& stage : executed.work.stages) {
    if (stage.asks.get() != last) {
      last = stage.asks.get();
      bytes += sizeof(Demand) + (last->kind_of.size() * sizeof(std::int32_t)) +
               (last->kinds.size() * sizeof(Load));
    }
  }
  return bytes;
}

/// What executions of programs do, under one tile model, by all that they depend on
/// (`Simulation::machine`, `Expander::signature`).
using Executions = Shelf<std::string, ExecutedOnce>;

}  // namespace elk::sim
