#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/partition/layout/layout.hpp"
#include "elk/program/code/code.hpp"
#include "elk/program/code/lifetimes.hpp"

namespace elk::program {

/// Bytes that one operand of an op takes on every core.
struct ExecuteSpace {
  OperandId operand;
  Bytes bytes;

  friend bool operator==(const ExecuteSpace&, const ExecuteSpace&) = default;
};

/// Buffers of one op that live for its execute only (design 7), by operand; zero bytes left out.
/// `have[k]` is the layout in which operand k rests, null where it does not rest on chip. A tensor
/// that several operands share is counted once, at the first of them.
[[nodiscard]] std::vector<ExecuteSpace> execute_space(
    const ir::Graph& graph, const ir::Op& op, const OpPlan& plan,
    const Table<OperandId, const partition::Layout*>& have, const chip::Chip& chip);

/// The space of an execute where it is known of each operand whether the op works on it as it
/// rests: 1, else 0.
[[nodiscard]] std::vector<ExecuteSpace> execute_space(const ir::Graph& graph, const ir::Op& op,
                                                      const OpPlan& plan,
                                                      const Table<OperandId, std::int8_t>& in_place,
                                                      const chip::Chip& chip);

/// The bytes a core has ahead of the execute, by operand: received at preload or, without HBM, on
/// the core from the start. Empty for an op that reads neither weights nor states.
[[nodiscard]] std::vector<ExecuteSpace> preload_space(const ir::Graph& graph, const ir::Op& op,
                                                      const OpPlan& plan, const chip::Chip& chip);

/// The first op that finds each weight or state evenly over all cores; none where no op does.
[[nodiscard]] Table<TensorId, OpId> spread_by(const ir::Graph& graph,
                                              const Table<OpId, OpPlan>& ops);

/// The layout in which a tensor rests on chip; empty for what lives in HBM only.
[[nodiscard]] std::optional<partition::Layout> rest_layout(const ir::Graph& graph, TensorId tensor,
                                                           const Table<OpId, OpPlan>& ops,
                                                           const Lifetimes& lives,
                                                           const chip::Chip& chip);

}  // namespace elk::program
