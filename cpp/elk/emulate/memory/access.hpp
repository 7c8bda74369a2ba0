#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elk/ir/graph.hpp"
#include "elk/partition/layout/piece.hpp"

namespace elk::emulate {

/// A range of every axis of an op: what one call of its kernel computes.
using Ranges = std::vector<partition::IndexRange>;

/// What a core holds of a stored tensor: one set of indices a dimension, their product stored
/// densely, row by row.
struct DensePiece {
  std::vector<partition::Indices> sets;

  [[nodiscard]] std::int64_t elements() const;
  friend bool operator==(const DensePiece&, const DensePiece&) = default;
};

/// All of a tensor.
[[nodiscard]] DensePiece whole(const ir::Tensor& tensor);

/// The points that a call runs over: some axes of the op, outermost first, each over a range.
struct AxisRanges {
  std::vector<std::int32_t> axes;
  Ranges ranges;  // of each of `axes`

  [[nodiscard]] std::int64_t count() const;
};

/// The points of all axes, or of those alone that `operand` depends on.
[[nodiscard]] AxisRanges all_points(const Ranges& ranges);
[[nodiscard]] AxisRanges points_of(const ir::Operand& operand, const Ranges& ranges);

/// `count` points from number `point` on that touch elements `element`, `element + step`, ...
struct ElementStride {
  std::int64_t point;
  std::int64_t count;
  std::int64_t element;
  std::int64_t step;
};

/// Which elements of a held piece an operand touches at the points of a call, in order of points.
/// Points outside the tensor are left out. An element of the tensor that is not held throws
/// InternalError with code "emulate_not_held".
///
/// `picks` are, for an indirect operand, the indices that its index tensor holds at every point.
[[nodiscard]] std::vector<ElementStride> touched(const ir::Operand& operand, const DensePiece& held,
                                                 std::span<const std::int64_t> shape,
                                                 const AxisRanges& points,
                                                 std::span<const std::int64_t> picks = {});

}  // namespace elk::emulate
