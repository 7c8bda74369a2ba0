#include "elk/partition/rotation.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/partition/extent.hpp"
#include "elk/program/expand/execution.hpp"

namespace elk::program {
namespace {

/// One dimension of an operand along which it rotates.
struct OperandCircle {
  std::size_t operand;
  partition::Circle circle;
};

std::vector<OperandCircle> spins(const PlacedOp& placed) {
  std::vector<OperandCircle> out;
  for (std::size_t k = 0; k < placed.plan.execute.temporal.size(); ++k) {
    if (partition::first_like(placed.op, k) != k) {
      continue;
    }
    for (const partition::Circle& circle :
         partition::rotation(placed.op, k, placed.plan.execute, placed.chip).circles) {
      out.push_back({k, circle});
    }
  }
  return out;
}

/// Steps between two shifts along a loop: the trips of the loops inside it.
std::int64_t period(const partition::ExecutePlan& plan, const partition::Tiling& tiling,
                    std::int32_t axis) {
  const auto loop = std::find(plan.loops.begin(), plan.loops.end(), axis);
  const auto inner = tiling.trips.begin() + (loop - plan.loops.begin()) + 1;
  return std::accumulate(inner, tiling.trips.end(), std::int64_t{1}, std::multiplies<>());
}

/// Indices of a dimension that a core holds: of its tile, or of a partition of it.
std::int64_t held_along(const PlacedOp& placed, std::size_t k, std::size_t dim,
                        const std::vector<std::int64_t>& tile) {
  const ir::Operand& operand = placed.op.operands[k];
  const ir::Tensor& tensor = placed.graph.tensors[subscript(operand.tensor)];
  const std::vector<std::int64_t>& temporal = placed.plan.execute.temporal[k];
  const std::int64_t count =
      temporal[dim] > 1
          ? ceil_div(tile[subscript(operand.dims[dim].axes[0])], temporal[dim])
          : partition::extent(tensor, operand, dim, partition::sizes(placed.op), tile).count;
  return std::min(tensor.shape[dim], count);
}

/// Elements of a core's partition but for the dimension of `spin`, at the tiles of its group.
std::int64_t across(const PlacedOp& placed, const OperandCircle& spin,
                    const std::vector<std::int64_t>& tile) {
  std::int64_t elements = 1;
  for (std::size_t dim = 0; dim < placed.op.operands[spin.operand].dims.size(); ++dim) {
    elements *= dim == spin.circle.dim ? 1 : held_along(placed, spin.operand, dim, tile);
  }
  return elements;
}

/// Elements of the dimensions around that of `spin`: a slab is one run for each.
std::int64_t around(const PlacedOp& placed, const OperandCircle& spin,
                    const std::vector<std::int64_t>& tile) {
  std::int64_t elements = 1;
  for (std::size_t dim = 0; dim < spin.circle.dim; ++dim) {
    elements *= held_along(placed, spin.operand, dim, tile);
  }
  return elements;
}

/// The circles of `spin` among a group of cores with one sub-tensor: in every ring the cores whose
/// places differ in that of `circle` alone.
void add_circles(const Sharers& group, const partition::Rotation& turns,
                 const partition::Circle& circle, const Transfer& like, Exchange& exchange) {
  const auto sharers = static_cast<std::int64_t>(group.cores.size());
  const std::int64_t in_rings = sharers / turns.ring * turns.ring;
  const std::int64_t reach = circle.stride * circle.parts;
  for (std::int64_t first = 0; first < in_rings; first += reach) {
    for (std::int64_t inner = 0; inner < circle.stride; ++inner) {
      Transfer transfer = like;
      transfer.to = static_cast<std::int32_t>(exchange.groups.size());
      Cores& cores = exchange.groups.emplace_back();
      for (std::int64_t place = 0; place < circle.parts; ++place) {
        cores.push_back(group.cores[subscript(first + inner + (place * circle.stride))]);
      }
      exchange.transfers.push_back(transfer);
    }
  }
}

RotationExchange rotation(const PlacedOp& placed, const OperandCircle& spin,
                          const partition::Tiling& tiling) {
  const partition::ExecutePlan& plan = placed.plan.execute;
  const ir::Operand& operand = placed.op.operands[spin.operand];
  const std::int64_t bits = ir::bits(placed.graph.tensors[subscript(operand.tensor)].dtype);
  const partition::Rotation turns = partition::rotation(placed.op, spin.operand, plan, placed.chip);
  const std::int64_t held = ceil_div(tiling.tile[subscript(spin.circle.axis)], spin.circle.parts);
  const std::int64_t slab = std::min(plan.pace[subscript(spin.circle.axis)], held);
  RotationExchange out{.operand = static_cast<std::int32_t>(spin.operand),
                       .dim = static_cast<std::int32_t>(spin.circle.dim),
                       .exchange = {},
                       .every = period(plan, tiling, spin.circle.axis),
                       .bytes = 0,
                       .chunks = 1,
                       .slices = 1,
                       .run = 1,
                       .bits = bits};
  for (const Sharers& group : sharers_in_rings(placed.op, spin.operand, plan, placed.chip)) {
    const std::vector<std::int64_t> tile = tile_at(placed.op, plan, group.digit);
    const std::int64_t bytes =
        partition::element_bytes(across(placed, spin, tile) * slab, bits).value;
    out.bytes = std::max(out.bytes, bytes);
    add_circles(group, turns, spin.circle,
                {.pattern = Pattern::Pass,
                 .operand = out.operand,
                 .from = -1,
                 .to = -1,
                 .unit = bytes,
                 .extent = 1,
                 .chunk = 1,
                 .runs = 0,
                 .level = 0},
                out.exchange);
  }
  const std::int64_t buffer = placed.chip.core.reserved.value;
  const std::int64_t runs = slab == held ? 1 : around(placed, spin, tiling.tile);
  out.chunks = buffer > 0 ? std::max<std::int64_t>(1, ceil_div(out.bytes, buffer)) : 1;
  out.slices = ceil_div(runs, out.chunks);
  out.run = ceil_div(across(placed, spin, tiling.tile) * slab, out.slices * out.chunks);
  return out;
}

}  // namespace

std::vector<RotationExchange> rotations(const PlacedOp& placed) {
  const partition::Tiling tiling = partition::tiling(placed.op, placed.plan.execute);
  std::vector<RotationExchange> out;
  for (const OperandCircle& spin : spins(placed)) {
    out.push_back(rotation(placed, spin, tiling));
  }
  return out;
}

}  // namespace elk::program
