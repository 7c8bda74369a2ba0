#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elk/ir/chains.hpp"
#include "elk/ir/graph.hpp"

namespace elk::ir {

/// A graph some of whose ops go in waves, and where everything in it comes from.
struct WaveGraph {
  Graph graph;
  std::vector<std::int32_t> op_of;      // of each op: the one that it is (a wave of)
  std::vector<std::int32_t> tensor_of;  // of each tensor: the one that it is (a part of)
  std::vector<std::int32_t> dim_of;  // of each tensor: the dimension of which it is a part, or -1
};

/// `graph` with every op of a chain as several, `x#0`, `x#1` and so on, one a wave. Each reads its
/// part of what lies whole, and makes a tensor of its own for its part of each result, `y#0`.
/// Others read such a result as operands that are parts of one value (`Operand::input`).
[[nodiscard]] WaveGraph in_waves(const Graph& graph, std::span<const Chain> chains);

}  // namespace elk::ir
