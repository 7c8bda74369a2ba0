#include "elk/program/expand/execution.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/core_needs.hpp"
#include "elk/partition/extent.hpp"
#include "elk/program/expand/gather.hpp"

namespace elk::program {
namespace {

/// Cores by the shape of their calls; those with nothing to compute are left out.
std::vector<Tiles> tiles_of(const PlacedOp& placed) {
  const partition::ExecutePlan& plan = placed.plan.execute;
  const auto cut = [&](AxisId axis) {
    const AxisId a = axis;
    return plan.factors[a] > 1;
  };
  std::map<Table<AxisId, std::int64_t>, Cores> found;
  for (const Sharers& group : sharers(placed.op, plan, placed.chip, cut)) {
    Table<AxisId, std::int64_t> size = tile_at(placed.op, plan, group.digit);
    if (std::find(size.begin(), size.end(), 0) != size.end()) {
      continue;
    }
    for (const AxisId axis : size.ids()) {
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

Bytes held_bytes(const PlacedOp& placed, OperandId k, Table<AxisId, std::int64_t> tile) {
  const ir::Operand& operand = placed.op.operands[k];
  const ir::Tensor& tensor = placed.graph.tensors[operand.tensor];
  const Table<DimId, std::int64_t>& temporal = placed.plan.execute.temporal[k];
  for (const DimId dim : temporal.ids()) {
    if (temporal[dim] > 1) {
      std::int64_t& axis = tile[operand.dims[dim].axes[0]];
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

namespace {

/// The rest of preloaded pieces, among peers.
void add_distribution(const PlacedOp& placed, OperandId k, Exchange& exchange) {
  const partition::ExecutePlan& plan = placed.plan.execute;
  const auto divisor = static_cast<std::size_t>(placed.plan.divisor[k]);
  const Table<DimId, std::int64_t>& temporal = plan.temporal[k];
  const auto ring = static_cast<std::size_t>(
      std::accumulate(temporal.begin(), temporal.end(), std::int64_t{1}, std::multiplies<>()));
  for (const Sharers& group : sharers_in_rings(placed.op, k, plan, placed.chip)) {
    const std::size_t peers = ring * divisor;
    const std::int64_t full = held_bytes(placed, k, tile_at(placed.op, plan, group.digit)).value;
    const std::int64_t part = partition::preload_piece({full}, placed.plan.divisor[k]).value;
    for (std::size_t first = 0; first + peers <= group.cores.size(); first += peers) {
      for (std::size_t start = 0; start < ring; ++start) {
        exchange.transfers.push_back({.pattern = Pattern::Share,
                                      .operand = k,
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

}  // namespace

void add_setup(const PlacedOp& placed, OperandId k, Exchange& exchange) {
  if (placed.plan.divisor[k] == 0) {
    add_gather(placed, k, nullptr, exchange);
  } else if (placed.plan.divisor[k] > 1) {
    add_distribution(placed, k, exchange);
  }
}

Execution expand(const PlacedOp& placed,
                 TableView<OperandId, const partition::Layout* const> have) {
  Execution out{.gather = gather(placed, have),
                .distribute = {},
                .tiles = tiles_of(placed),
                .steps = partition::tiling(placed.op, placed.plan.execute).steps,
                .rotations = rotations(placed),
                .reduce = reductions(placed),
                .wide = partition::is_wide(placed.plan.execute, placed.chip),
                .collective = {}};
  for (const OperandId k : placed.op.operands.ids()) {
    const ir::Operand& operand = placed.op.operands[k];
    if (operand.access == ir::Access::Read && partition::first_like(placed.op, k) == k &&
        partition::from_hbm(placed.graph, operand)) {
      add_setup(placed, k, out.distribute);
    }
  }
  if (ir::is_collective(placed.op.kind)) {
    out.collective = collective(placed);
  }
  return out;
}

}  // namespace elk::program
