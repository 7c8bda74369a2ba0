#include "elk/program/expand/gather.hpp"

#include <algorithm>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/extent.hpp"
#include "elk/program/expand/boxes.hpp"
#include "elk/program/expand/collective_moves.hpp"

namespace elk::program {
namespace {

using partition::DimPieces;
using partition::IndexView;
using partition::Pieces;

/// What a transfer is counted for: the bytes that are sent, the runs that arrive, or both.
struct Counted {
  bool bytes;
  bool runs;
};

/// Whether every core that needs a piece holds that very piece.
bool in_place(const Pieces& held, const Pieces& needed) {
  for (std::size_t core = 0; core < needed.ids.size(); ++core) {
    const std::int32_t place = held.place(needed.ids[core]);
    if (place < 0) {
      return false;
    }
    for (const DimId dim : first_ids<DimId>(needed.dims.size())) {
      const DimPieces& have = held.dims[dim.index()];
      const DimPieces& need = needed.dims[dim.index()];
      const IndexView there = have.sets[have.at(subscript(place))];
      const IndexView wanted = need.sets[need.at(core)];
      if (!std::equal(there.begin(), there.end(), wanted.begin(), wanted.end())) {
        return false;
      }
    }
  }
  return true;
}

/// Elements that any core reads of an operand, each once; picked dimensions by their picks.
std::int64_t unique_elements(const PlacedOp& placed, OperandId k) {
  const ir::Operand& operand = placed.op.operands[k];
  const Table<AxisId, std::int64_t> whole = partition::sizes(placed.op);
  return partition::box(placed.graph.tensors[operand.tensor], operand, whole, whole).elements;
}

std::int64_t bits_of(const PlacedOp& placed, OperandId k) {
  return ir::bits(placed.graph.tensors[placed.op.operands[k].tensor].dtype);
}

/// Elements of the busiest core's piece, as a picked dimension counts in every other piece.
std::int64_t picks(const PlacedOp& placed, OperandId k) {
  const ir::Operand& operand = placed.op.operands[k];
  if (!operand.indirect) {
    return 1;
  }
  const Table<AxisId, std::int64_t> tile = partition::tiling(placed.op, placed.plan.execute).tile;
  return partition::extent(placed.graph.tensors[operand.tensor], operand, operand.indirect->dim,
                           tile, tile)
      .count;
}

/// One operand of an op.
struct Read {
  const PlacedOp& placed;
  OperandId k;
};

/// Adds boxes that lie in equal shares on all cores; returns the bytes that all cores receive.
std::int64_t add_boxes(const Read& read, const std::vector<DimPieces>& dims,
                       std::vector<PieceGroup> groups, Counted counted, Exchange& exchange) {
  const auto& [placed, k] = read;
  const partition::Box busiest =
      partition::held_box(placed.graph, placed.op, k, placed.plan.execute);
  const std::int64_t unique = unique_elements(placed, k);
  std::int64_t received = 0;
  for (PieceGroup& group : groups) {
    std::int64_t elements = picks(placed, k);
    for (std::size_t dim = 0; dim < dims.size(); ++dim) {
      elements *= dims[dim].counts[subscript(group.sets[dim])];
    }
    const std::int64_t bytes = partition::element_bytes(elements, bits_of(placed, k)).value;
    const partition::Box piece{.elements = elements, .runs = std::min(busiest.runs, elements)};
    received += counted.bytes ? bytes * static_cast<std::int64_t>(group.cores.size()) : 0;
    exchange.transfers.push_back(
        {.pattern = Pattern::Spread,
         .operand = k,
         .from = -1,
         .to = static_cast<std::int32_t>(exchange.groups.size()),
         .unit = counted.bytes ? bytes : 0,
         .extent = 1,
         .chunk = 1,
         .runs = counted.runs
                     ? partition::spread_fragments(piece, unique, chip::total_cores(placed.chip))
                     : 0,
         .level = 0});
    exchange.groups.push_back(std::move(group.cores));
  }
  return received;
}

void add_spread(const PlacedOp& placed, OperandId k, const Pieces& needed, Exchange& exchange) {
  std::vector<PieceGroup> whole = piece_groups(needed);
  Boxes parts = boxes(needed, whole);
  const bool overlapping = !parts.groups.empty();
  std::int64_t received = 0;
  if (overlapping) {
    received = add_boxes({placed, k}, parts.dims, std::move(parts.groups),
                         {.bytes = true, .runs = false}, exchange);
  }
  received += add_boxes({placed, k}, needed.dims, std::move(whole),
                        {.bytes = !overlapping, .runs = true}, exchange);
  const std::int64_t once =
      partition::element_bytes(unique_elements(placed, k), bits_of(placed, k)).value;
  exchange.even_bytes += placed.chip.interconnect.multicast ? std::min(received, once) : received;
}

void add_moves(const PlacedOp& placed, OperandId k, Moves found, Counted counted,
               Exchange& exchange) {
  const auto first = static_cast<std::int32_t>(exchange.groups.size());
  const auto held = static_cast<std::int32_t>(found.held.size());
  const std::int64_t bits = bits_of(placed, k);
  exchange.groups.reserve(exchange.groups.size() + found.held.size() + found.needed.size());
  exchange.transfers.reserve(exchange.transfers.size() + found.moves.size());
  for (std::vector<PieceGroup>* groups : {&found.held, &found.needed}) {
    for (PieceGroup& group : *groups) {
      exchange.groups.push_back(std::move(group.cores));
    }
  }
  for (const Move& move : found.moves) {
    const std::int64_t bytes = partition::element_bytes(move.elements, bits).value;
    exchange.transfers.push_back({.pattern = Pattern::Fetch,
                                  .operand = k,
                                  .from = first + move.from,
                                  .to = first + held + move.to,
                                  .unit = counted.bytes ? bytes : 0,
                                  .extent = 1,
                                  .chunk = 1,
                                  .runs = counted.runs ? move.runs : 0,
                                  .level = 0});
  }
}

}  // namespace

void add_gather(const PlacedOp& placed, OperandId k, const partition::Layout* have,
                Exchange& exchange) {
  const partition::Layout need =
      partition::start_layout(placed.graph, placed.op, k, placed.plan.execute, placed.chip);
  const Pieces needed(need);
  if (have == nullptr || have->spread || placed.op.operands[k].indirect) {
    add_spread(placed, k, needed, exchange);
    return;
  }
  const Pieces held(*have);
  if (in_place(held, needed)) {
    return;
  }
  Moves whole = moves(held, needed);
  Boxes parts = boxes(needed, whole.needed);
  const bool overlapping = !parts.groups.empty();
  if (overlapping) {
    Moves apart{.held = whole.held, .needed = std::move(parts.groups), .moves = {}};
    list_moves(held, parts.dims, apart);
    add_moves(placed, k, std::move(apart), {.bytes = true, .runs = false}, exchange);
  }
  add_moves(placed, k, std::move(whole), {.bytes = !overlapping, .runs = true}, exchange);
}

Exchange gather(const PlacedOp& placed, TableView<OperandId, const partition::Layout* const> have) {
  Exchange exchange;
  for (const OperandId k : placed.op.operands.ids()) {
    const ir::Operand& operand = placed.op.operands[k];
    if (operand.access == ir::Access::Read && !partition::from_hbm(placed.graph, operand) &&
        partition::first_like(placed.op, k) == k) {
      add_gather(placed, k, have[k], exchange);
    }
  }
  if (ir::is_collective(placed.op.kind)) {
    add_collection(placed, exchange);
  }
  return exchange;
}

}  // namespace elk::program
