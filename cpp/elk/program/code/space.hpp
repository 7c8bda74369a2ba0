#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/partition/layout/layout.hpp"
#include "elk/program/code/code.hpp"
#include "elk/program/code/lifetimes.hpp"

namespace elk::program {

/// Bytes that one operand of an op takes on every core.
struct ExecuteSpace {
  std::int32_t operand;
  Bytes bytes;

  friend bool operator==(const ExecuteSpace&, const ExecuteSpace&) = default;
};

/// Buffers of one op that live for its execute only (design 7), by operand; zero bytes left out.
/// `have[k]` is the layout in which operand k rests, null where it does not rest on chip. A tensor
/// that several operands share is counted once, at the first of them.
[[nodiscard]] std::vector<ExecuteSpace> execute_space(
    const ir::Graph& graph, const ir::Op& op, const OpPlan& plan,
    const std::vector<const partition::Layout*>& have, const chip::Chip& chip);

/// The space of an execute where it is known of each operand whether the op works on it as it
/// rests: 1, else 0.
[[nodiscard]] std::vector<ExecuteSpace> execute_space(const ir::Graph& graph, const ir::Op& op,
                                                      const OpPlan& plan,
                                                      const std::vector<std::int8_t>& in_place,
                                                      const chip::Chip& chip);

/// The bytes a core receives at preload, by operand; empty for an op without HBM data.
[[nodiscard]] std::vector<ExecuteSpace> preload_space(const ir::Graph& graph, const ir::Op& op,
                                                      const OpPlan& plan, const chip::Chip& chip);

/// The layout in which a tensor rests on chip; empty for what lives in HBM only.
[[nodiscard]] std::optional<partition::Layout> rest_layout(const ir::Graph& graph,
                                                           std::int32_t tensor,
                                                           const std::vector<OpPlan>& ops,
                                                           const Lifetimes& lives,
                                                           const chip::Chip& chip);

}  // namespace elk::program
