#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/graph.hpp"
#include "elk/program/code/code.hpp"

namespace elk::program {

/// Where instructions stand in the code; -1 where there is none.
struct CodePositions {
  Table<OpId, std::int32_t> execute;    // of each op
  Table<OpId, std::int32_t> preload;    // of each op
  Table<TensorId, std::int32_t> store;  // of each tensor
  /// Of each tensor with a store: the last instruction at which the store may be under way. That is
  /// the execute that waits for the first preload issued after it, or the last of the program.
  Table<TensorId, std::int32_t> stored;
};
[[nodiscard]] CodePositions positions(const ir::Graph& graph, const std::vector<Instruction>& code);

}  // namespace elk::program
