#pragma once

#include <cstddef>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/program/code/code.hpp"

namespace elk::program {

/// Every buffer of the program with its lifetime, offsets zero (design 7, Buffers).
///
/// A tensor that a Store names is kept until the store is certainly over: through the execute that
/// waits for the first preload issued after the store, or through the program's end. Its buffer
/// has the role Store where that is later than its last use, and Activation elsewhere.
[[nodiscard]] std::vector<Buffer> buffers(const ir::Graph& graph, const chip::Chip& chip,
                                          const Table<OpId, OpPlan>& ops,
                                          const std::vector<Instruction>& code);

/// Bytes in use at every instruction.
[[nodiscard]] std::vector<Bytes> occupancy(const std::vector<Buffer>& buffers,
                                           std::size_t instructions);

}  // namespace elk::program
