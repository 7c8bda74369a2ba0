#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/partition/extent.hpp"
#include "elk/program/expand/execution.hpp"

namespace elk::program {
namespace {

std::int64_t wide_bits(const PlacedOp& placed, std::size_t k) {
  const ir::DType stored = placed.graph.tensors[subscript(placed.op.operands[k].tensor)].dtype;
  return std::max(ir::bits(placed.op.accumulate), ir::bits(stored));
}

/// Elements of a result's tile at the tiles of a group, and how many indices its cut dimension has.
struct ResultTile {
  std::int64_t elements;
  std::int64_t cut;
};

ResultTile result_tile(const PlacedOp& placed, std::size_t k, std::int32_t cut,
                       const std::vector<std::int64_t>& tile) {
  const ir::Operand& result = placed.op.operands[k];
  const ir::Tensor& tensor = placed.graph.tensors[subscript(result.tensor)];
  const std::vector<std::int64_t> size = partition::sizes(placed.op);
  ResultTile out{.elements = 1, .cut = 1};
  for (std::size_t dim = 0; dim < result.dims.size(); ++dim) {
    const std::int64_t count = partition::extent(tensor, result, dim, size, tile).count;
    out.elements *= count;
    out.cut = static_cast<std::int32_t>(dim) == cut ? count : out.cut;
  }
  return out;
}

bool has_empty(const std::vector<std::int64_t>& tile) {
  return std::any_of(tile.begin(), tile.end(), [](std::int64_t length) { return length == 0; });
}

/// The reduce-scatter of the partial tiles of result `k` among cores that differ in reduction axes
/// alone.
ReductionRound scatter_round(const PlacedOp& placed, std::size_t k,
                             const partition::Scatter& parts) {
  const partition::ExecutePlan& plan = placed.plan.execute;
  const ir::Operand& result = placed.op.operands[k];
  const std::int64_t bits = wide_bits(placed, k);
  const std::vector<std::int64_t> whole = partition::tiling(placed.op, plan).tile;
  const std::int64_t chunk = ceil_div(result_tile(placed, k, parts.dim, whole).cut, parts.parts);
  ReductionRound out{.exchange = {}, .parts = parts.parts, .elements = parts.piece};
  for (Sharers& group : sharers(placed.op, plan, placed.chip, [&](std::int32_t axis) {
         return placed.op.axes[subscript(axis)].role != ir::AxisRole::Reduction ||
                partition::contains(result, axis);
       })) {
    const std::vector<std::int64_t> tile = tile_at(placed.op, plan, group.digit);
    const ResultTile size = has_empty(tile) ? ResultTile{.elements = 0, .cut = 0}
                                            : result_tile(placed, k, parts.dim, tile);
    if (size.elements == 0) {
      continue;
    }
    out.exchange.transfers.push_back(
        {.pattern = Pattern::Scatter,
         .operand = static_cast<std::int32_t>(k),
         .from = -1,
         .to = static_cast<std::int32_t>(out.exchange.groups.size()),
         .unit = partition::element_bytes(size.elements / size.cut, bits).value,
         .extent = size.cut,
         .chunk = chunk,
         .runs = parts.runs,
         .level = 0});
    out.exchange.groups.push_back(std::move(group.cores));
  }
  return out;
}

/// The groups of cores that share rows, with the bytes of the values that each of them has.
Exchange row_exchange(const PlacedOp& placed, std::int64_t values_a_row, Pattern pattern,
                      std::int64_t level) {
  const partition::ExecutePlan& plan = placed.plan.execute;
  Exchange out;
  for (Sharers& group : sharers(placed.op, plan, placed.chip, [&](std::int32_t axis) {
         return placed.op.axes[subscript(axis)].role != ir::AxisRole::Row;
       })) {
    const std::vector<std::int64_t> tile = tile_at(placed.op, plan, group.digit);
    std::int64_t values = values_a_row;
    for (std::size_t axis = 0; axis < tile.size(); ++axis) {
      values *= placed.op.axes[axis].role == ir::AxisRole::Row ? 1 : tile[axis];
    }
    const std::int64_t bytes =
        partition::element_bytes(values, ir::bits(placed.op.accumulate)).value;
    if (bytes == 0) {
      continue;
    }
    const auto cores = static_cast<std::int64_t>(group.cores.size());
    out.transfers.push_back({.pattern = pattern,
                             .operand = 0,
                             .from = -1,
                             .to = static_cast<std::int32_t>(out.groups.size()),
                             .unit = bytes,
                             .extent = pattern == Pattern::Share ? cores : 1,
                             .chunk = 1,
                             .runs = 1,
                             .level = level});
    out.groups.push_back(std::move(group.cores));
  }
  return out;
}

void add_row_rounds(const PlacedOp& placed, std::vector<ReductionRound>& out) {
  const partition::ExecutePlan& plan = placed.plan.execute;
  const std::vector<std::int64_t> whole = partition::tiling(placed.op, plan).tile;
  std::int64_t cores = 1;
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis < plan.factors.size(); ++axis) {
    const bool row = placed.op.axes[axis].role == ir::AxisRole::Row;
    cores *= row ? plan.factors[axis] : 1;
    rows *= row ? 1 : whole[axis];
  }
  if (cores == 1) {
    return;
  }
  const partition::RowSums sums = partition::row_sums(placed.op);
  const std::int64_t values = rows * sums.values;
  const auto levels =
      static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(cores - 1)));
  for (std::int64_t round = 0; round < sums.rounds; ++round) {
    if (!placed.plan.tree) {
      out.push_back({.exchange = row_exchange(placed, sums.values, Pattern::Share, 0),
                     .parts = cores,
                     .elements = values});
      continue;
    }
    for (std::int64_t level = 0; level < levels; ++level) {
      out.push_back(
          {.exchange = row_exchange(placed, sums.values, Pattern::Pair, std::int64_t{1} << level),
           .parts = 2,
           .elements = values});
    }
  }
}

}  // namespace

std::vector<ReductionRound> reductions(const PlacedOp& placed) {
  std::vector<ReductionRound> out;
  for (std::size_t k = 0; k < placed.op.operands.size(); ++k) {
    if (placed.op.operands[k].access == ir::Access::Write) {
      const partition::Scatter parts =
          partition::scatter(placed.graph, placed.op, k, placed.plan.execute, placed.chip);
      if (parts.parts > 1) {
        out.push_back(scatter_round(placed, k, parts));
      }
    }
  }
  add_row_rounds(placed, out);
  return out;
}

}  // namespace elk::program
