#include "elk/train/work/local_sizes.hpp"

#include <utility>

#include "elk/base/rounding.hpp"
#include "elk/partition/extent.hpp"

namespace elk::train {

Table<AxisId, std::int64_t> LocalSizes::axes(OpId id) const {
  return local_sizes(facts_.graph.ops[id], facts_.cuts.ops[id]);
}

std::int64_t LocalSizes::elements(OpId id, const ir::Operand& operand) const {
  const ir::Op& op = facts_.graph.ops[id];
  const ir::Operand& counted = operand.indirect ? op.operands.back() : operand;
  Table<AxisId, std::int64_t> whole;
  for (const ir::Axis& axis : op.axes) {
    whole.push_back(axis.size);
  }
  return partition::box(facts_.graph.tensors[counted.tensor], counted, whole, axes(id)).elements;
}

Bytes LocalSizes::bytes(OpId id, const ir::Operand& operand) const {
  const ir::DType dtype = facts_.graph.tensors[operand.tensor].dtype;
  return {ceil_div(elements(id, operand) * ir::bits(dtype), 8)};
}

Seconds LocalSizes::called(OpId id, const Table<AxisId, std::int64_t>& sizes, CallRole role) const {
  return facts_.calls != nullptr ? facts_.calls->of(id, sizes, role) : Seconds{0};
}

Seconds LocalSizes::pass(OpId id, const ir::Operand& operand) const {
  const ir::DType dtype = facts_.graph.tensors[operand.tensor].dtype;
  return facts_.calls != nullptr ? facts_.calls->pass(elements(id, operand), dtype) : Seconds{0};
}

ProductSize product_size(const ir::Op& op, const Table<AxisId, std::int64_t>& sizes) {
  ProductSize size{.groups = 1, .m = 1, .n = 1, .k = 1};
  for (const AxisId axis : op.axes.ids()) {
    const ir::TileDim dim = product_dim(op.axes[axis].tile_dim);
    std::int64_t& outer = dim == ir::TileDim::M ? size.m : size.n;
    std::int64_t& inner = dim == ir::TileDim::Group ? size.groups : size.k;
    (dim == ir::TileDim::M || dim == ir::TileDim::N ? outer : inner) *= sizes[axis];
  }
  return size;
}

Table<AxisId, std::int64_t> widened(const ir::Op& op, Table<AxisId, std::int64_t> sizes,
                                    std::int64_t columns) {
  for (const AxisId axis : op.axes.ids()) {
    if (op.axes[axis].tile_dim == ir::TileDim::N) {
      sizes[axis] = std::exchange(columns, 1);
    }
  }
  return sizes;
}

}  // namespace elk::train
