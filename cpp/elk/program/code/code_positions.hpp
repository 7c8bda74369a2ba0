#pragma once

#include <cstdint>
#include <vector>

#include "elk/ir/graph.hpp"
#include "elk/program/code/code.hpp"

namespace elk::program {

/// Where instructions stand in the code; -1 where there is none.
struct CodePositions {
  std::vector<std::int32_t> execute;  // of each op
  std::vector<std::int32_t> preload;  // of each op
  std::vector<std::int32_t> store;    // of each tensor
  /// Of each tensor with a store: the last instruction at which the store may be under way. That is
  /// the execute that waits for the first preload issued after it, or the last of the program.
  std::vector<std::int32_t> stored;
};
[[nodiscard]] CodePositions positions(const ir::Graph& graph, const std::vector<Instruction>& code);

}  // namespace elk::program
