#pragma once

#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/program/code/code.hpp"

namespace elk::emulate {

/// A program to be run with real numbers.
struct EmulationJob {
  const ir::Graph& graph;
  const chip::Chip& chip;
  const program::Program& program;
  int threads = 0;  // as in parallel_map
};

}  // namespace elk::emulate
