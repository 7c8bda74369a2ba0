#pragma once

#include <string>
#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/program/code/code.hpp"

namespace elk::program {

/// Every broken rule of design 7, 3 and 6.3, in words; empty for a sound program.
[[nodiscard]] std::vector<std::string> check(const ir::Graph& graph, const chip::Chip& chip,
                                             const Program& program);

/// The rules among them that hold without buffers: those of a forecast, which places none.
[[nodiscard]] std::vector<std::string> check_unplaced(const ir::Graph& graph,
                                                      const chip::Chip& chip,
                                                      const Program& program);

}  // namespace elk::program
