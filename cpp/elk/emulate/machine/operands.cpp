#include "elk/emulate/machine/operands.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/parallel.hpp"
#include "elk/base/table.hpp"
#include "elk/emulate/kernels/pack.hpp"
#include "elk/program/expand/groups.hpp"

namespace elk::emulate {
namespace {

std::int64_t piece_bytes(std::int64_t elements, std::int64_t bits) {
  return partition::element_bytes(elements, bits).value;
}

/// Whether two sets have an index in common.
bool meet(partition::IndexView a, partition::IndexView b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!intersection(a[i], b[j]).empty()) {
      return true;
    }
    (a[i].end < b[j].end ? i : j) += 1;
  }
  return false;
}

/// The part [begin, begin + bytes) of the bytes that segments make up.
void append_part(const std::vector<Segment>& from, std::int64_t begin, std::int64_t bytes,
                 std::vector<Segment>& out) {
  std::int64_t passed = 0;
  for (const Segment& segment : from) {
    const std::int64_t low = std::max(begin, passed);
    const std::int64_t high = std::min(begin + bytes, passed + segment.bytes);
    const std::int64_t address = segment.begin + low - passed;
    if (low < high && !out.empty() && out.back().begin + out.back().bytes == address) {
      out.back().bytes += high - low;
    } else if (low < high) {
      out.push_back({.begin = address, .bytes = high - low});
    }
    passed += segment.bytes;
  }
}

/// The rows of a tensor of so many that indices name, those below zero from its end.
partition::Indices rows_among(const std::vector<std::int64_t>& values, std::int64_t rows) {
  std::set<std::int64_t> picked;
  for (const std::int64_t value : values) {
    picked.insert(value < 0 ? value + rows : value);
  }
  partition::Indices set;
  for (const std::int64_t row : picked) {
    if (row < 0 || row >= rows) {
      continue;
    }
    if (!set.empty() && set.back().end == row) {
      set.back().end += 1;
    } else {
      set.push_back({.begin = row, .end = row + 1});
    }
  }
  return set;
}

/// Which operand holds the numbers of the rows that operand `k` picks.
OperandId index_operand(const Table<OperandId, ir::Operand>& operands, OperandId k) {
  OperandId index{0};
  while (index == k || operands[index].tensor != operands[k].indirect->index) {
    ++index;
  }
  return index;
}

/// What lies at which slot: the indices of a set, one after another, in runs.
template <class SlotOf>
std::vector<OverlapRange> runs_to(const partition::Indices& set, const SlotOf& slot_of) {
  std::vector<OverlapRange> result;
  std::int64_t number = 0;
  for (const partition::IndexRange& run : set) {
    for (std::int64_t index = run.begin; index < run.end; ++index, ++number) {
      const std::int64_t slot = slot_of(index);
      const bool goes_on = !result.empty() && result.back().to + result.back().count == slot;
      if (goes_on) {
        result.back().count += 1;
      } else {
        result.push_back({.from = number, .to = slot, .count = 1});
      }
    }
  }
  return result;
}

}  // namespace

LayoutPieces::LayoutPieces(const partition::Layout& layout)
    : pieces_(layout), groups_(program::piece_groups(pieces_)) {
  all_.reserve(groups_.size());
  for (const program::PieceGroup& group : groups_) {
    const auto place = static_cast<std::size_t>(pieces_.place(group.cores.front().value));
    all_.push_back({.held = held_at(pieces_, place), .cores = group.cores});
  }
  for (const DimId dim : first_ids<DimId>(pieces_.dims.size())) {
    of_set_.emplace_back(pieces_.dims[dim.index()].sets.size());
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      of_set_[dim][subscript(groups_[i].sets[dim.index()])].push_back(i);
    }
  }
}

void LayoutPieces::for_each_that_meets(
    const DensePiece& held, const std::function<void(const PieceHolders&)>& visit) const {
  Table<DimId, std::vector<char>> meets;  // of every dimension, each of its sets
  for (const DimId dim : held.sets.ids()) {
    const auto& sets = pieces_.dims[dim.index()].sets;
    std::vector<char>& of_dim = meets.emplace_back(sets.size());
    for (std::size_t set = 0; set < sets.size(); ++set) {
      of_dim[set] = meet(sets[set], partition::IndexView(held.sets[dim])) ? 1 : 0;
    }
  }
  for (const std::size_t group : candidates(meets)) {
    bool all = true;
    for (DimId dim{0}; dim.index() < meets.size() && all; ++dim) {
      all = meets[dim][subscript(groups_[group].sets[dim.index()])] != 0;
    }
    if (all) {
      visit(all_[group]);
    }
  }
}

std::vector<std::size_t> LayoutPieces::candidates(
    const Table<DimId, std::vector<char>>& meets) const {
  std::vector<std::size_t> fewest(meets.empty() ? groups_.size() : 0);
  std::iota(fewest.begin(), fewest.end(), std::size_t{0});  // A number: everyone holds it.
  for (const DimId dim : meets.ids()) {
    std::vector<std::size_t> left;
    for (std::size_t set = 0; set < meets[dim].size(); ++set) {
      if (meets[dim][set] != 0) {
        left.insert(left.end(), of_set_[dim][set].begin(), of_set_[dim][set].end());
      }
    }
    if (dim == DimId{0} || left.size() < fewest.size()) {
      std::swap(fewest, left);
    }
  }
  std::sort(fewest.begin(), fewest.end());
  return fewest;
}

Operands::Operands(ChipState& machine, OpId op, Picks picks)
    : machine_(machine),
      id_(op),
      placed_{machine.job.graph, machine.job.graph.ops[op], machine.job.program.ops[op],
              machine.job.chip},
      site_(placed_),
      places_(machine.job, machine.book, machine.spaces, op),
      picks_(placed_.op.operands.size()) {
  for (const OperandId k : placed_.op.operands.ids()) {
    if (placed_.op.operands[k].indirect && picks == Picks::Known) {
      find_picks(k);
    }
  }
  const std::size_t workers = site_.workers().size();
  first_held_.assign(picks_.size(), std::vector<DensePiece>(workers));
  storage_.assign(picks_.size(), std::vector<Storage>(workers));
  for (const OperandId k : picks_.ids()) {
    const std::vector<Segment> space = places_.segments(k);
    for_each_worker(0, [&](std::size_t worker) {
      first_held_[k][worker] = held(k, worker, site_.shifts(k, 0));
      storage_[k][worker] = find_storage(k, worker, space);
    });
  }
}

void Operands::find_picks(OperandId k) {
  const ir::Operand& operand = placed_.op.operands[k];
  const auto& operands = placed_.op.operands;
  const OperandId index = index_operand(operands, k);
  const ir::Tensor& tensor = site_.tensor(index);
  std::vector<std::byte> collected;
  const std::span<const std::byte> bytes = machine_.image(operands[index].tensor, collected);
  const std::int64_t rows = site_.tensor(k).shape[operand.indirect->dim];
  for (const Worker& worker : site_.workers()) {
    const AxisRanges points = points_of(operands[index], worker.tile);
    std::vector<std::int64_t> values(subscript(points.count()));
    for (const ElementStride& run : touched(operands[index], whole(tensor), tensor.shape, points)) {
      emulate::load(Elements{.data = bytes.data(), .dtype = tensor.dtype},
                    {.first = run.element, .step = run.step, .count = run.count},
                    values.data() + run.point);
    }
    picks_[k].push_back(rows_among(values, rows));
  }
}

DensePiece Operands::held(OperandId k, std::size_t worker, const Shifts& shifts) const {
  DensePiece result = site_.held(k, worker, shifts);
  if (!picks_[k].empty()) {
    result.sets[placed_.op.operands[k].indirect->dim] = picks_[k][worker];
  }
  return result;
}

Storage Operands::find_storage(OperandId k, std::size_t worker,
                               const std::vector<Segment>& space) const {
  if (!is_preloaded(k)) {
    return {space};
  }
  const Slices cut = slices(k, worker);
  const std::int64_t own = cut.parts[cut.own].bytes;
  Storage out;
  for (std::size_t i = 0; i < cut.parts.size(); ++i) {
    const std::int64_t behind = i < cut.own ? own : 0;
    const std::int64_t begin = i == cut.own ? 0 : behind + cut.parts[i].begin;
    append_part(space, begin, cut.parts[i].bytes, out.segments);
  }
  return out;
}

Operands::Slices Operands::slices(OperandId k, std::size_t worker) const {
  const std::int64_t divisor = std::max<std::int64_t>(1, placed_.plan.divisor[k]);
  const std::int64_t ring = site_.ring(k);
  const std::size_t sharers = site_.group(k, site_.member(k, worker).group).size();
  if (sharers % subscript(ring * divisor) != 0) {
    throw InternalError(text("operand ", k, " is dealt out to ", divisor, " peers of ", sharers,
                             " sharers in rings of ", ring),
                        "emulate_exchange");
  }
  std::int64_t elements = first_held(k, worker).elements();
  if (site_.rotates(k)) {  // A circle has a place for every position, be it clipped or not.
    for (const OverlapRange& run : circle_runs(k, worker, site_.shifts(k, 0))) {
      elements = std::max(elements, run.to + run.count);
    }
  }
  const Bytes full = partition::aligned({piece_bytes(elements, site_.bits(k))});
  const std::int64_t part = partition::preload_piece(full, divisor).value;
  Slices out{.parts = {}, .own = subscript(site_.member(k, worker).number / ring % divisor)};
  for (std::int64_t i = 0; i < divisor; ++i) {
    const std::int64_t begin = std::min(full.value, i * part);
    out.parts.push_back({.begin = begin, .bytes = std::min(part, full.value - begin)});
  }
  return out;
}

std::size_t Operands::peer(OperandId k, std::size_t worker, std::size_t slice) const {
  const std::int64_t divisor = std::max<std::int64_t>(1, placed_.plan.divisor[k]);
  const std::int64_t ring = site_.ring(k);
  const Member& member = site_.member(k, worker);
  const std::int64_t first = member.number - (member.number % (ring * divisor));
  const std::int64_t number =
      first + (member.number % ring) + (static_cast<std::int64_t>(slice) * ring);
  const std::vector<std::size_t>& group = site_.group(k, member.group);
  if (number >= static_cast<std::int64_t>(group.size())) {
    throw InternalError(text("slice ", slice, " of operand ", k, " lies on no core"),
                        "emulate_exchange");
  }
  return group[subscript(number)];
}

ElementPositions Operands::positions(OperandId k, std::size_t worker, const Shifts& shifts,
                                     DimRange dims) const {
  const DensePiece piece = held(k, worker, shifts);
  const std::vector<RotationDim>& spins = site_.spins(k);
  ElementPositions out;
  for (DimId dim = dims.end; dim-- > dims.begin;) {
    const std::int64_t length = partition::count(piece.sets[dim]);
    ElementPositions along{
        .runs = {{.from = 0, .to = 0, .count = length}}, .indices = length, .places = length};
    for (std::size_t i = 0; i < spins.size(); ++i) {
      if (spins[i].dim == dim) {
        along = circle(spins[i], worker, shifts[i], piece.sets[dim]);
      }
    }
    out = around(along, out);
  }
  return out;
}

ElementPositions Operands::circle(const RotationDim& spin, std::size_t worker, std::int64_t shifts,
                                  const partition::Indices& set) const {
  const CircleRange window = site_.window(spin, worker);
  const std::int64_t begin = site_.workers()[worker].tile[spin.axis].begin;
  const std::int64_t moved = shifts * placed_.plan.execute.pace[spin.axis];
  const auto slot_of = [&](std::int64_t index) {
    const std::int64_t ahead = index - begin - window.start - moved;
    const std::int64_t in_window = ((ahead % window.length) + window.length) % window.length;
    return (moved + in_window) % window.held;
  };
  return {.runs = runs_to(set, slot_of), .indices = partition::count(set), .places = window.held};
}

std::vector<OverlapRange> Operands::circle_runs(OperandId k, std::size_t worker,
                                                const Shifts& shifts) const {
  return positions(k, worker, shifts, {DimId{0}, id_at<DimId>(site_.tensor(k).shape.size())}).runs;
}

View Operands::view(OperandId k, std::size_t worker, std::int64_t bits) const {
  return {machine_.arenas[site_.workers()[worker].core], storage(k, worker), bits};
}

std::byte* Operands::in_place(OperandId k, std::size_t worker) const {
  if (site_.rotates(k)) {
    return nullptr;
  }
  const View place = view(k, worker, site_.bits(k));
  return const_cast<std::byte*>(place.reading(0, first_held(k, worker).elements()));
}

std::vector<std::byte> Operands::load(OperandId k, std::size_t worker, const Shifts& shifts) const {
  const std::int64_t bits = site_.bits(k);
  const DensePiece piece = held(k, worker, shifts);
  const View place = view(k, worker, bits);
  std::vector<std::byte> out(subscript(piece_bytes(piece.elements(), bits) + 8));
  for (const OverlapRange& run : circle_runs(k, worker, shifts)) {
    place.read_to(run.to, run.count, out.data(), run.from);
  }
  return out;
}

std::vector<std::byte> Operands::in_place_order(OperandId k, std::size_t worker,
                                                std::vector<std::byte> piece) const {
  if (!site_.rotates(k)) {
    return piece;
  }
  const std::vector<OverlapRange> runs = circle_runs(k, worker, site_.shifts(k, 0));
  std::int64_t end = 0;
  for (const OverlapRange& run : runs) {
    end = std::max(end, run.to + run.count);
  }
  std::vector<std::byte> out(subscript(piece_bytes(end, site_.bits(k)) + 8));
  for (const OverlapRange& run : runs) {
    copy_elements(piece.data(), out.data(),
                  {.from = run.from, .to = run.to, .count = run.count, .bits = site_.bits(k)});
  }
  return out;
}

void Operands::note(std::size_t worker, Receipt moved) const {
  if (moved.bytes > 0) {
    moved.op = id_;
    machine_.tape[site_.workers()[worker].core].push_back(moved);
  }
}

void Operands::for_each_worker(std::int64_t step,
                               const std::function<void(std::size_t)>& body) const {
  parallel_for_index(site_.workers().size(), machine_.job.threads, [&](std::size_t worker) {
    try {
      body(worker);
    } catch (const InternalError& error) {
      throw InternalError(text("op '", placed_.op.name, "', core ", site_.workers()[worker].core,
                               ", step ", step, ": ", error.what()),
                          error.code());
    }
  });
}

}  // namespace elk::emulate
