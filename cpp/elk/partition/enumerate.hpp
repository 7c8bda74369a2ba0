#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/partition/plan.hpp"

namespace elk::partition {

/// The factors up to `limit` that cut an axis of `size` into different tiles, ascending: for every
/// tile size the fewest cores that hold it, so that every core has work.
[[nodiscard]] Table<AxisId, std::int64_t> distinct_factors(std::int64_t size, std::int64_t limit);

/// The divisors of `number`, ascending.
[[nodiscard]] std::vector<std::int64_t> divisors(std::int64_t number);

/// The temporal factors of a dimension whose tile is `tile`, of a sub-tensor that `sharers` cores
/// need, ascending from 1: divisors of `sharers`, for every part size the smallest.
[[nodiscard]] std::vector<std::int64_t> temporal_factors(std::int64_t tile, std::int64_t sharers);

/// Whether `operand` may rotate along `dim`: a read without computed index, along one axis as it
/// is.
[[nodiscard]] bool rotates(const ir::Op& op, OperandId operand, DimId dim);

/// The shortest partition along each axis among the tensors that rotate there (T10 4.2), else 0:
/// the longest paces of a plan with these factors and temporal factors.
[[nodiscard]] Table<AxisId, std::int64_t> paces(const ir::Op& op, const ExecutePlan& plan);

/// Rotated axes by the bytes that rotate along them, most first, ties by position (T10 4.4): the
/// loops, outermost first. The plan has factors, temporal factors and paces.
[[nodiscard]] std::vector<AxisId> loop_order(const ir::Graph& graph, const ir::Op& op,
                                             const ExecutePlan& plan, const chip::Chip& chip);

/// The plan with these factors and temporal factors: paces are the shortest partitions, the axis of
/// the smaller rotating tensor is the innermost loop, cores lie in `core_order`. Empty where the
/// cut axes do not fit the chip's grid.
[[nodiscard]] std::optional<ExecutePlan> complete_plan(
    const ir::Graph& graph, const ir::Op& op, Table<AxisId, std::int64_t> factors,
    Table<OperandId, Table<DimId, std::int64_t>> temporal, const chip::Chip& chip);

}  // namespace elk::partition
