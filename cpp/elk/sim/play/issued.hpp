#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "elk/base/ids.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/program/expand/expander.hpp"

/// What instructions of a program stand for, whoever plays them.
namespace elk::sim {

/// Which of the distinct preloads an instruction issues. Throws InvalidInput where the op has
/// nothing in HBM.
[[nodiscard]] std::int32_t issued_preload(const program::Expander& expander, OpId op);

/// The place among the graph's stores of the one that an instruction issues; empty where nothing is
/// written.
[[nodiscard]] std::optional<std::size_t> issued_store(const ir::Graph& graph,
                                                      const chip::Chip& chip, TensorId tensor);

/// Throws InvalidInput where an op that has a preload executes and it was not `issued`.
void check_preloaded(const program::Expander& expander, OpId op, bool issued);

}  // namespace elk::sim
