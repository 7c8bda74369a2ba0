#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/graph.hpp"
#include "elk/program/code/code.hpp"

namespace elk::program {

/// The instructions in issue order: before execute(i) every preload whose place in
/// `preload_order` is below the number that op i lets ahead; a store right after the execute that
/// makes its tensor.
[[nodiscard]] std::vector<Instruction> issue(const ir::Graph& graph,
                                             const std::vector<OpId>& preload_order,
                                             const Table<OpId, std::int32_t>& issued_before);

}  // namespace elk::program
