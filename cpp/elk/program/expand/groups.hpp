#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/partition/layout/piece.hpp"
#include "elk/partition/plan.hpp"

namespace elk::program {

/// Core ids: cores that hold, need or deal out the same thing. Ascending, but where they stand in
/// the order of a ring.
using Cores = std::vector<CoreId>;

/// Cores with one and the same piece of a layout: of every dimension one of its sets of indices.
struct PieceGroup {
  std::vector<std::int32_t> sets;
  Cores cores;
};

/// The distinct pieces of a layout that are not empty, by the numbers of their sets.
[[nodiscard]] std::vector<PieceGroup> piece_groups(const partition::Pieces& pieces);

/// Cores of an op that agree in their place along some of its axes.
struct Sharers {
  Table<AxisId, std::int64_t> digit;  // place along every axis of the op; 0 along the others
  Cores cores;                        // the inner axes count fastest
};

/// The cores of an op, grouped by their places along the axes that `distinguish` selects.
[[nodiscard]] std::vector<Sharers> sharers(const ir::Op& op, const partition::ExecutePlan& plan,
                                           const chip::Chip& chip,
                                           const std::function<bool(AxisId axis)>& distinguish);

/// The cores that share a sub-tensor of a read operand, group by group, each ring after ring in the
/// order of its places (`partition::Rotation`).
[[nodiscard]] std::vector<Sharers> sharers_in_rings(const ir::Op& op, OperandId operand,
                                                    const partition::ExecutePlan& plan,
                                                    const chip::Chip& chip);

/// The lengths of a core's tile of an op at its places along the axes; 0 beyond the end of an axis.
[[nodiscard]] Table<AxisId, std::int64_t> tile_at(const ir::Op& op,
                                                  const partition::ExecutePlan& plan,
                                                  const Table<AxisId, std::int64_t>& digit);

}  // namespace elk::program
