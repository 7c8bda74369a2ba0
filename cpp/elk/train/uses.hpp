#pragma once

#include <cstdint>
#include <vector>

#include "elk/ir/graph.hpp"

namespace elk::train {

/// What becomes of each tensor of a graph.
struct Uses {
  std::vector<std::int32_t> last_reader;  // the last op that reads it, or -1
  std::vector<std::int8_t> kept;          // whether it is stored or leaves the graph
  std::vector<std::int8_t> picks;         // whether its values pick rows of another
};
[[nodiscard]] Uses uses(const ir::Graph& graph);

/// Whether the repeated layers of a graph read only what the layer before them made: what is read
/// later cannot be told from what stands at the same place of the last layer.
[[nodiscard]] bool passes_on(const ir::Graph& graph, const Uses& uses);

}  // namespace elk::train
