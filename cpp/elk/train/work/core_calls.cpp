#include "elk/train/work/core_calls.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "elk/tile/times.hpp"

namespace elk::train {
namespace {

/// The dimension of a call that an axis of a product gets in the gradient of an operand, which does
/// not have the dimension `reduced`: that takes the place of the depth, and the depth its own.
ir::TileDim exchanged(ir::TileDim dim, ir::TileDim reduced) {
  if (dim == reduced) {
    return ir::TileDim::K;
  }
  return dim == ir::TileDim::K ? reduced : dim;
}

/// `op` as it is called in another role.
ir::Op in_role(const ir::Op& op, CallRole role) {
  ir::Op result = op;
  const bool first = role == CallRole::FirstGradient;
  for (ir::Axis& axis : result.axes) {
    if (op.kind == ir::OpKind::MatMul) {
      axis.tile_dim = exchanged(axis.tile_dim, first ? ir::TileDim::N : ir::TileDim::M);
    } else if (op.kind == ir::OpKind::Conv && !first) {
      // A product of places: kernels by channels of the result.
      axis.tile_dim = exchanged(product_dim(axis.tile_dim), ir::TileDim::M);
    } else if (op.kind == ir::OpKind::Conv && axis.tile_dim == ir::TileDim::OutCh) {
      axis.tile_dim = ir::TileDim::InCh;
    } else if (op.kind == ir::OpKind::Conv && axis.tile_dim == ir::TileDim::InCh) {
      axis.tile_dim = ir::TileDim::OutCh;
    }
  }
  if (op.kind == ir::OpKind::Conv && !first) {
    result.function = "matmul";
    result.params.clear();
  }
  return result;
}

}  // namespace

ir::TileDim product_dim(ir::TileDim dim) {
  using enum ir::TileDim;
  const auto is_one_of = [dim](std::initializer_list<ir::TileDim> dims) {
    return std::ranges::find(dims, dim) != dims.end();
  };
  if (dim == Group) {
    return Group;
  }
  if (is_one_of({M, Batch, OutH, OutW})) {
    return M;
  }
  return is_one_of({N, OutCh}) ? N : K;
}

CoreCalls::CoreCalls(const ir::Graph& graph, const chip::Chip& chip, const tile::TileModel& tiles)
    : graph_(graph), chip_(chip), tiles_(tiles), alike_(ir::equal_ops(graph)) {}

Seconds CoreCalls::of(OpId op, const Table<AxisId, std::int64_t>& sizes, CallRole role) {
  const auto [found, is_new] = known_.try_emplace({alike_[op], sizes, role}, Seconds{0});
  if (is_new) {
    const ir::Op called =
        role == CallRole::Forward ? graph_.ops[op] : in_role(graph_.ops[op], role);
    found->second = {tile::TileTimes(graph_, called, chip_, tiles_).sub_task(sizes)};
  }
  return found->second;
}

Seconds CoreCalls::pass(std::int64_t elements, ir::DType dtype) const {
  tile::TileShape shape{.size = {}, .params = {0, 0}};
  shape.size.fill(1);
  shape.size[static_cast<std::size_t>(ir::TileDim::Elements)] = elements;
  return {tiles_.cycles(tiles_.find("add", dtype, dtype), shape) / chip_.core.clock_hz};
}

}  // namespace elk::train
