#include "elk/program/expand/loading.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/core_needs.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/order.hpp"
#include "elk/program/expand/execution.hpp"

namespace elk::program {
namespace {

/// Bytes that the HBM of every chip reads of an operand, once for all that receive them or, where
/// nothing is multicast, once for every ring of peers.
void add_reads(const PlacedOp& placed, OperandId k, std::vector<std::int64_t>& hbm_bytes) {
  const partition::ExecutePlan& plan = placed.plan.execute;
  const partition::CoreNeeds needs(placed.graph, placed.op, k, plan.factors, plan.order);
  const std::int64_t ids =
      partition::ids_of_chip(plan.factors, plan.order, plan.mesh_dims, placed.chip);
  const std::int64_t held = held_bytes(placed, k, partition::tiling(placed.op, plan).tile).value;
  const partition::PieceSharing sharing =
      partition::sharing(placed.graph, placed.op, k, plan, placed.chip);
  const double rings =
      static_cast<double>(sharing.copies) / static_cast<double>(placed.plan.divisor[k]);
  for (std::size_t chip = 0; chip < hbm_bytes.size(); ++chip) {
    const std::int64_t begin = std::min(needs.cores(), static_cast<std::int64_t>(chip) * ids);
    const std::int64_t cores = std::min(ids, needs.cores() - begin);
    if (placed.chip.interconnect.multicast) {
      hbm_bytes[chip] += std::min(needs.bytes(begin, begin + ids), held * cores);
    } else {
      const double share = static_cast<double>(cores) / static_cast<double>(needs.cores());
      hbm_bytes[chip] += static_cast<std::int64_t>(
          std::ceil(static_cast<double>(sharing.unique_bytes) * rings * share));
    }
  }
}

/// One piece for each chip and each slice that its cores receive of one sub-tensor.
void add_slices(const PlacedOp& placed, OperandId k, const Sharers& group,
                std::vector<LoadingPiece>& pieces) {
  const Table<DimId, std::int64_t>& temporal = placed.plan.execute.temporal[k];
  const auto ring = subscript(
      std::accumulate(temporal.begin(), temporal.end(), std::int64_t{1}, std::multiplies<>()));
  const std::size_t divisor = subscript(placed.plan.divisor[k]);
  const Table<AxisId, std::int64_t> tile = tile_at(placed.op, placed.plan.execute, group.digit);
  const std::int64_t full = held_bytes(placed, k, tile).value;
  const std::int64_t part = partition::preload_piece({full}, placed.plan.divisor[k]).value;
  const double expected =
      partition::expected_share(placed.graph, placed.op, k, placed.plan.execute);
  std::map<std::pair<std::int64_t, std::size_t>, Cores> slices;  // by chip, part and slice
  for (std::size_t number = 0; number < group.cores.size(); ++number) {
    const std::int64_t chip = group.cores[number].value / placed.chip.core.count;
    slices[{chip, number % (ring * divisor)}].push_back(group.cores[number]);
  }
  for (auto& [key, cores] : slices) {
    const std::int64_t begin = static_cast<std::int64_t>(key.second / ring) * part;
    const std::int64_t length = std::clamp<std::int64_t>(full - begin, 0, part);
    const auto bytes = static_cast<std::int64_t>(std::ceil(static_cast<double>(length) * expected));
    if (bytes > 0) {
      std::sort(cores.begin(), cores.end());
      pieces.push_back({.operand = k,
                        .chip = static_cast<std::int32_t>(key.first),
                        .bytes = bytes,
                        .cores = std::move(cores)});
    }
  }
}

}  // namespace

Loading preload(const PlacedOp& placed) {
  Loading out{.hbm_bytes = std::vector<std::int64_t>(subscript(placed.chip.chips), 0),
              .pieces = {},
              .run = 0};
  for (OperandId k{0}; k.index() < placed.op.operands.size() && placed.chip.hbm; ++k) {
    const ir::Operand& operand = placed.op.operands[k];
    if (!partition::from_hbm(placed.graph, operand) || partition::first_like(placed.op, k) != k) {
      continue;
    }
    add_reads(placed, k, out.hbm_bytes);
    for (const Sharers& group : sharers_in_rings(placed.op, k, placed.plan.execute, placed.chip)) {
      add_slices(placed, k, group, out.pieces);
    }
  }
  return out;
}

Loading store(const ir::Graph& graph, const ir::Store& store, const partition::Layout& rest,
              const chip::Chip& chip) {
  Loading out{.hbm_bytes = std::vector<std::int64_t>(subscript(chip.chips), 0),
              .pieces = {},
              .run = store.run.value};
  const std::int64_t bits = ir::bits(graph.tensors[store.tensor].dtype);
  const partition::Pieces pieces(rest);
  for (const PieceGroup& group : piece_groups(pieces)) {
    std::int64_t elements = 1;
    for (std::size_t dim = 0; dim < group.sets.size(); ++dim) {
      elements *= pieces.dims[dim].counts[subscript(group.sets[dim])];
    }
    const std::int64_t bytes = partition::element_bytes(elements, bits).value;
    const std::int32_t home =
        group.cores.front().value / static_cast<std::int32_t>(chip.core.count);
    out.hbm_bytes[subscript(home)] += bytes;
    out.pieces.push_back(
        {.operand = OperandId::none, .chip = home, .bytes = bytes, .cores = {group.cores.front()}});
  }
  return out;
}

}  // namespace elk::program
