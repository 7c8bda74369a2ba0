#pragma once

#include <cstdint>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/ir/graph.hpp"
#include "elk/train/work/group_work.hpp"

namespace elk::train {

/// What ops are on one device: sizes of axes, elements and bytes of operands, times of tile calls.
class LocalSizes {
 public:
  explicit LocalSizes(const WorkFacts& facts) : facts_(facts) {}

  [[nodiscard]] Table<AxisId, std::int64_t> axes(OpId id) const;
  /// Of what is picked, not of what it is picked from.
  [[nodiscard]] std::int64_t elements(OpId id, const ir::Operand& operand) const;
  [[nodiscard]] Bytes bytes(OpId id, const ir::Operand& operand) const;

  /// The time of a call of the op's kernel; none where devices are no cores.
  [[nodiscard]] Seconds called(OpId id) const { return called(id, axes(id), CallRole::Forward); }
  [[nodiscard]] Seconds called(OpId id, const Table<AxisId, std::int64_t>& sizes,
                               CallRole role) const;
  /// The time of a pass over an operand.
  [[nodiscard]] Seconds pass(OpId id, const ir::Operand& operand) const;

 private:
  const WorkFacts& facts_;
};

/// The product that an op computes with these sizes; of a convolution, places by channels.
[[nodiscard]] ProductSize product_size(const ir::Op& op, const Table<AxisId, std::int64_t>& sizes);

/// The sizes of a product that stands for several of one activation: as many columns.
[[nodiscard]] Table<AxisId, std::int64_t> widened(const ir::Op& op,
                                                  Table<AxisId, std::int64_t> sizes,
                                                  std::int64_t columns);

}  // namespace elk::train
