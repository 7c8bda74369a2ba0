#pragma once

#include <cstdint>
#include <span>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/ir/graph.hpp"

namespace elk::partition {

/// The operands and results of one call of a kernel on a sub-task of `size`: what it touches in
/// SRAM, if it touches everything once.
[[nodiscard]] Bytes call_bytes(const ir::Graph& graph, const ir::Op& op,
                               TableView<AxisId, const std::int64_t> size);

}  // namespace elk::partition
