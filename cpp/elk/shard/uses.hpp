#pragma once

#include <cstdint>
#include <vector>

#include "elk/ir/graph.hpp"
#include "elk/shard/split.hpp"

namespace elk::shard {

/// What becomes of each tensor of a graph.
struct TensorUses {
  std::vector<std::int32_t> last_reader;  // the last op that reads it, or -1
  std::vector<std::int8_t> kept;          // whether it is stored or leaves the graph
  std::vector<std::int8_t> picks;         // whether its values pick rows of another
  std::vector<std::int8_t> spans;  // whether the first of equal layers makes it for after the last
};
[[nodiscard]] TensorUses uses(const ir::Graph& graph);

/// The first of the repeated layers after which the next may be told by it, counted from 0: those
/// from it on read only what they or the layer before them made. As many as there are layers if
/// there is none: what is read later cannot be told from what stands at the same place of the last.
[[nodiscard]] std::int32_t first_to_repeat(const ir::Graph& graph, const TensorUses& uses);

/// Whether no result of a split is out of place: results that leave the chips, and what is stored,
/// are never addends; nor is anything that nobody may add up, for chips exchange nothing
/// (`silent`). What picks rows is read whole by every chip.
[[nodiscard]] bool is_allowed(const ir::Op& op, const Split& split, const TensorUses& uses,
                              bool silent);

}  // namespace elk::shard
