#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/program/code/code.hpp"

namespace elk::program {

/// What the rules are checked on, and the broken ones found so far.
struct CheckContext {
  const ir::Graph& graph;
  const chip::Chip& chip;
  const Program& program;
  std::vector<std::string> broken;
};

/// "op 3 (layer.0/q_proj)", as every message begins.
[[nodiscard]] std::string named(const ir::Graph& graph, OpId op);
[[nodiscard]] std::string named_tensor(const ir::Graph& graph, TensorId tensor);

/// Design 7, the order of instructions: every op executes once and in order, what it needs from HBM
/// was preloaded once before, and what a preload reads was there to be read.
void check_order(CheckContext& context);

/// Design 3.1 and 3.4: factors, temporal factors and paces, and divisors of what is preloaded.
/// Returns for each op whether its plan may be relied upon.
[[nodiscard]] Table<OpId, std::int8_t> check_plans(CheckContext& context);

/// Design 6.3 and 7: ranges within the SRAM, capacity at every instruction, no two buffers at one
/// address and time.
void check_addresses(CheckContext& context);

/// Design 3.2 and 7: every byte that a plan says it holds lies in a buffer, for as long as it is
/// needed. Of ops whose plan is not `valid` nothing is asked.
void check_coverage(CheckContext& context, const Table<OpId, std::int8_t>& valid);

}  // namespace elk::program
