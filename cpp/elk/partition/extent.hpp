#pragma once

#include <cstdint>
#include <span>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/graph.hpp"

namespace elk::partition {

/// Whether a core's part of `operand` depends on its place along `axis`: the axis indexes a
/// dimension, or counts picks of an index tensor.
[[nodiscard]] bool contains(const ir::Operand& operand, AxisId axis);

/// One axis, as it is: the only kind of dimension that a tensor rotates along.
[[nodiscard]] bool simple(const ir::Dim& dim);

/// Whether the axes fill the dimension in mixed radix, innermost last. One axis with coefficient 1
/// is packed, too, though the dimension may be shorter than the axis.
[[nodiscard]] bool packed(const ir::Dim& dim, TableView<AxisId, const std::int64_t> size);

/// What the busiest tile touches of one dimension.
struct Extent {
  std::int64_t count;      // indices
  std::int64_t intervals;  // maximal runs of neighbouring indices
};

/// The busiest tile's part of `dim`, of a dimension of `shape` indices, when the axes of `size` are
/// cut into tiles of `tile`. An index map with coefficients is counted by its box, clipped to the
/// tensor: the interval it spans in steps of the common divisor, or the product of its axes, if
/// that is less.
[[nodiscard]] Extent extent(const ir::Dim& dim, std::int64_t shape,
                            TableView<AxisId, const std::int64_t> size,
                            TableView<AxisId, const std::int64_t> tile);

/// What the busiest tile touches of one operand.
struct Box {
  std::int64_t elements;
  std::int64_t runs;  // contiguous runs of the stored tensor
};
[[nodiscard]] Box box(const ir::Tensor& tensor, const ir::Operand& operand,
                      TableView<AxisId, const std::int64_t> size,
                      TableView<AxisId, const std::int64_t> tile);

/// Runs in which a piece arrives whose tensor, of `elements` in all, lies in equal contiguous
/// shares on `cores`.
[[nodiscard]] std::int64_t spread_fragments(const Box& piece, std::int64_t elements,
                                            std::int64_t cores);

/// The part of one dimension that `box` counts: picked dimensions by their picks.
[[nodiscard]] Extent extent(const ir::Tensor& tensor, const ir::Operand& operand, DimId dim,
                            TableView<AxisId, const std::int64_t> size,
                            TableView<AxisId, const std::int64_t> tile);

}  // namespace elk::partition
