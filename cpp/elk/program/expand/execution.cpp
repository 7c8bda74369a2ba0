#include "elk/program/expand/execution.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/partition/core_needs.hpp"
#include "elk/partition/extent.hpp"
#include "elk/program/expand/gather.hpp"

namespace elk::program {
namespace {

/// Cores by the shape of their calls; those with nothing to compute are left out.
std::vector<Tiles> tiles_of(const PlacedOp& placed) {
  const partition::ExecutePlan& plan = placed.plan.execute;
  const auto cut = [&](std::int32_t axis) {
    const std::size_t a = subscript(axis);
    return plan.factors[a] > 1;
  };
  std::map<std::vector<std::int64_t>, Cores> found;
  for (const Sharers& group : sharers(placed.op, plan, placed.chip, cut)) {
    std::vector<std::int64_t> size = tile_at(placed.op, plan, group.digit);
    if (std::find(size.begin(), size.end(), 0) != size.end()) {
      continue;
    }
    for (std::size_t axis = 0; axis < size.size(); ++axis) {
      size[axis] = plan.pace[axis] > 0 ? std::min(size[axis], plan.pace[axis]) : size[axis];
    }
    Cores& cores = found[std::move(size)];
    cores.insert(cores.end(), group.cores.begin(), group.cores.end());
  }
  std::vector<Tiles> out;
  out.reserve(found.size());
  for (auto& [size, cores] : found) {
    out.push_back({.size = size, .cores = std::move(cores)});
  }
  return out;
}

}  // namespace

Bytes held_bytes(const PlacedOp& placed, std::size_t k, std::vector<std::int64_t> tile) {
  const ir::Operand& operand = placed.op.operands[k];
  const ir::Tensor& tensor = placed.graph.tensors[subscript(operand.tensor)];
  const std::vector<std::int64_t>& temporal = placed.plan.execute.temporal[k];
  for (std::size_t dim = 0; dim < temporal.size(); ++dim) {
    if (temporal[dim] > 1) {
      std::int64_t& axis = tile[subscript(operand.dims[dim].axes[0])];
      axis = ceil_div(axis, temporal[dim]);
    }
  }
  if (std::find(tile.begin(), tile.end(), 0) != tile.end()) {
    return {0};
  }
  return partition::aligned(partition::element_bytes(
      partition::box(tensor, operand, partition::sizes(placed.op), tile).elements,
      ir::bits(tensor.dtype)));
}

void add_distribution(const PlacedOp& placed, std::size_t k, Exchange& exchange) {
  const partition::ExecutePlan& plan = placed.plan.execute;
  const auto divisor = static_cast<std::size_t>(placed.plan.divisor[k]);
  const std::vector<std::int64_t>& temporal = plan.temporal[k];
  const auto ring = static_cast<std::size_t>(
      std::accumulate(temporal.begin(), temporal.end(), std::int64_t{1}, std::multiplies<>()));
  for (const Sharers& group : sharers_in_rings(placed.op, k, plan, placed.chip)) {
    const std::size_t peers = ring * divisor;
    const std::int64_t full = held_bytes(placed, k, tile_at(placed.op, plan, group.digit)).value;
    const std::int64_t part = partition::preload_piece({full}, placed.plan.divisor[k]).value;
    for (std::size_t first = 0; first + peers <= group.cores.size(); first += peers) {
      for (std::size_t start = 0; start < ring; ++start) {
        exchange.transfers.push_back({.pattern = Pattern::Share,
                                      .operand = static_cast<std::int32_t>(k),
                                      .from = -1,
                                      .to = static_cast<std::int32_t>(exchange.groups.size()),
                                      .unit = 1,
                                      .extent = full,
                                      .chunk = part,
                                      .runs = 1,
                                      .level = 0});
        Cores& cores = exchange.groups.emplace_back();
        for (std::size_t peer = 0; peer < divisor; ++peer) {
          cores.push_back(group.cores[first + start + (peer * ring)]);
        }
      }
    }
  }
}

Execution expand(const PlacedOp& placed, std::span<const partition::Layout* const> have) {
  Execution out{.gather = gather(placed, have),
                .distribute = {},
                .tiles = tiles_of(placed),
                .steps = partition::tiling(placed.op, placed.plan.execute).steps,
                .rotations = rotations(placed),
                .reduce = reductions(placed),
                .wide = partition::is_wide(placed.plan.execute, placed.chip),
                .collective = {}};
  for (std::size_t k = 0; k < placed.op.operands.size(); ++k) {
    const ir::Operand& operand = placed.op.operands[k];
    if (operand.access == ir::Access::Read && partition::first_like(placed.op, k) == k &&
        partition::from_hbm(placed.graph, operand) && placed.chip.hbm &&
        placed.plan.divisor[k] > 1) {
      add_distribution(placed, k, out.distribute);
    }
  }
  if (ir::is_collective(placed.op.kind)) {
    out.collective = collective(placed);
  }
  return out;
}

}  // namespace elk::program
