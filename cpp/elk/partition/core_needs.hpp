#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/partition/plan.hpp"
#include "elk/partition/projection.hpp"

namespace elk::partition {

/// Of what the busiest core's part of an operand would be with every pick in a row of its own, the
/// share that is expected; 1 where no index picks.
[[nodiscard]] double expected_share(const ir::Graph& graph, const ir::Op& op, OperandId operand,
                                    const ExecutePlan& plan);

/// What runs of neighbouring cores need of one operand. Cores are those in use, numbered without
/// gaps in the order of their ids.
class CoreNeeds {
 public:
  CoreNeeds(const ir::Graph& graph, const ir::Op& op, OperandId operand,
            const Table<AxisId, std::int64_t>& factors, const std::vector<AxisId>& order);

  /// Bytes that the cores [begin, end) need, each once. Of an indirect operand: what is expected,
  /// and never more than these cores can pick.
  [[nodiscard]] std::int64_t bytes(std::int64_t begin, std::int64_t end) const;

  /// Pieces that cores on both sides of `boundary` need.
  [[nodiscard]] std::int64_t straddling(std::int64_t boundary) const;

  [[nodiscard]] std::int64_t cores() const { return pieces_.cores(); }

 private:
  Projection pieces_;
  Projection picks_;
  double bits_;
  double unique_;
  double picked_;    // picks of the whole op, 0: not indirect
  double expected_;  // rows that are picked of it
};

/// Cores in use on every chip but the last, numbered as in `CoreNeeds`.
[[nodiscard]] std::int64_t ids_of_chip(const Table<AxisId, std::int64_t>& factors,
                                       const std::vector<AxisId>& order,
                                       const Table<AxisId, std::int32_t>& mesh_dims,
                                       const chip::Chip& chip);

/// Whether cores of several chips take part in a plan: on a grid those in more rows than a chip
/// has, however few they are.
[[nodiscard]] bool is_wide(const ExecutePlan& plan, const chip::Chip& chip);

/// Bytes that a chip lacks of the `bytes` it needs of a tensor that lies evenly over all `chips`.
[[nodiscard]] std::int64_t lacking(std::int64_t bytes, std::int64_t chips);

/// Bytes that the neediest chip lacks of a tensor that lies evenly over all `chips`.
[[nodiscard]] std::int64_t most_lacking(const CoreNeeds& needs, std::int64_t ids,
                                        std::int64_t chips);

}  // namespace elk::partition
