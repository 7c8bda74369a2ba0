#pragma once

#include <cstdint>
#include <optional>

#include "elk/base/ids.hpp"
#include "elk/ir/graph.hpp"

namespace elk::train {

/// The layers of a graph: what it repeats, begun where the fewest bytes pass from one to the next.
[[nodiscard]] std::optional<ir::Repeat> layers_of(const ir::Graph& graph);
/// The number of the layer in which an op stands; none: it is before or behind all of them.
[[nodiscard]] std::optional<std::int32_t> layer_of(const std::optional<ir::Repeat>& layers,
                                                   OpId op);

}  // namespace elk::train
