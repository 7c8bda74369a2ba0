#include <algorithm>
#include <cstddef>
#include <numeric>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/partition/extent.hpp"
#include "elk/program/execution.hpp"

namespace elk::program {
namespace {

/// One dimension of an operand along which it rotates.
struct Spin {
  std::size_t operand;
  std::size_t dim;
  std::int32_t axis;
  std::int64_t parts;  // f_t
};

std::vector<Spin> spins(const PlacedOp& placed) {
  std::vector<Spin> out;
  for (std::size_t k = 0; k < placed.plan.execute.temporal.size(); ++k) {
    const std::vector<std::int64_t>& temporal = placed.plan.execute.temporal[k];
    for (std::size_t dim = 0; dim < temporal.size(); ++dim) {
      if (temporal[dim] > 1 && partition::first_like(placed.op, k) == k) {
        out.push_back({k, dim, placed.op.operands[k].dims[dim].axes[0], temporal[dim]});
      }
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

/// Indices of a dimension that a core holds, of a tile of `tile` along its axis cut into `parts`.
std::int64_t part_length(std::int64_t tile, std::int64_t parts) { return ceil_div(tile, parts); }

/// Elements of a core's partition but for the dimension of `spin`, at the tiles of its group.
std::int64_t across(const PlacedOp& placed, const Spin& spin,
                    const std::vector<std::int64_t>& tile) {
  const ir::Operand& operand = placed.op.operands[spin.operand];
  const ir::Tensor& tensor = placed.graph.tensors[subscript(operand.tensor)];
  const std::vector<std::int64_t>& temporal = placed.plan.execute.temporal[spin.operand];
  const std::vector<std::int64_t> size = partition::sizes(placed.op);
  std::int64_t elements = 1;
  for (std::size_t dim = 0; dim < operand.dims.size(); ++dim) {
    if (dim == spin.dim) {
      continue;
    }
    const bool split = dim < temporal.size() && temporal[dim] > 1;
    const std::int64_t count =
        split ? part_length(tile[subscript(operand.dims[dim].axes[0])], temporal[dim])
              : partition::extent(tensor, operand, dim, size, tile).count;
    elements *= std::min(tensor.shape[dim], count);
  }
  return elements;
}

/// Elements of the dimensions around that of `spin`: a slab is one run for each.
std::int64_t around(const PlacedOp& placed, const Spin& spin,
                    const std::vector<std::int64_t>& tile) {
  const ir::Operand& operand = placed.op.operands[spin.operand];
  const ir::Tensor& tensor = placed.graph.tensors[subscript(operand.tensor)];
  const std::vector<std::int64_t> size = partition::sizes(placed.op);
  std::int64_t elements = 1;
  for (std::size_t dim = 0; dim < spin.dim; ++dim) {
    elements *= partition::extent(tensor, operand, dim, size, tile).count;
  }
  return elements;
}

/// The rings of a group of cores with one sub-tensor, `ring` cores at a time.
void add_rings(const Sharers& group, std::int64_t ring, const Transfer& like, Exchange& exchange) {
  for (std::size_t first = 0; first + static_cast<std::size_t>(ring) <= group.cores.size();
       first += static_cast<std::size_t>(ring)) {
    const auto begin = group.cores.begin() + static_cast<std::ptrdiff_t>(first);
    Transfer transfer = like;
    transfer.to = static_cast<std::int32_t>(exchange.groups.size());
    exchange.groups.emplace_back(begin, begin + ring);
    exchange.transfers.push_back(transfer);
  }
}

Rotation rotation(const PlacedOp& placed, const Spin& spin, const partition::Tiling& tiling) {
  const partition::ExecutePlan& plan = placed.plan.execute;
  const ir::Operand& operand = placed.op.operands[spin.operand];
  const std::int64_t bits = ir::bits(placed.graph.tensors[subscript(operand.tensor)].dtype);
  const std::vector<std::int64_t>& temporal = plan.temporal[spin.operand];
  const std::int64_t ring =
      std::accumulate(temporal.begin(), temporal.end(), std::int64_t{1}, std::multiplies<>());
  const std::int64_t held = part_length(tiling.tile[subscript(spin.axis)], spin.parts);
  const std::int64_t slab = std::min(plan.pace[subscript(spin.axis)], held);
  Rotation out{.operand = static_cast<std::int32_t>(spin.operand),
               .exchange = {},
               .every = period(plan, tiling, spin.axis),
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
    add_rings(group, ring,
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

std::vector<Rotation> rotations(const PlacedOp& placed) {
  const partition::Tiling tiling = partition::tiling(placed.op, placed.plan.execute);
  std::vector<Rotation> out;
  for (const Spin& spin : spins(placed)) {
    out.push_back(rotation(placed, spin, tiling));
  }
  return out;
}

}  // namespace elk::program
