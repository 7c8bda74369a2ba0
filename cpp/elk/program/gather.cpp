#include "elk/program/gather.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "elk/base/rounding.hpp"
#include "elk/partition/extent.hpp"

namespace elk::program {
namespace {

using partition::DimPieces;
using partition::IndexView;
using partition::Indices;
using partition::Pieces;
using partition::Run;

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

/// What two sets of one dimension have in common.
struct Overlap {
  std::int32_t set;    // of the held layout
  std::int64_t count;  // indices
  std::int64_t runs;   // of them
  bool whole;          // whether it is all of both sets
};

/// Finds the held sets of a dimension that share indices with a needed one.
class Finder {
 public:
  Finder(const DimPieces& held, const DimPieces& needed)
      : held_(held), needed_(needed), known_(needed.sets.size()), is_known_(needed.sets.size(), 0) {
    for (std::size_t set = 0; set < held.sets.size(); ++set) {
      for (const Run& run : held.sets[set]) {
        runs_.push_back({run, static_cast<std::int32_t>(set)});
      }
    }
    std::sort(runs_.begin(), runs_.end(), [](const Held& a, const Held& b) {
      return std::pair(a.run.begin, a.set) < std::pair(b.run.begin, b.set);
    });
    std::int64_t reach = 0;
    for (const Held& one : runs_) {
      reach = std::max(reach, one.run.end);
      reach_.push_back(reach);
    }
  }

  [[nodiscard]] const std::vector<Overlap>& operator()(std::int32_t set) {
    if (is_known_[at(set)] == 0) {
      known_[at(set)] = find(needed_.sets[at(set)], needed_.counts[at(set)]);
      is_known_[at(set)] = 1;
    }
    return known_[at(set)];
  }

 private:
  struct Held {
    Run run;
    std::int32_t set;
  };

  [[nodiscard]] std::vector<Overlap> find(IndexView wanted, std::int64_t count) const {
    std::vector<Overlap> out;
    for (const Run& want : wanted) {
      const auto reaches = std::upper_bound(reach_.begin(), reach_.end(), want.begin);
      for (auto i = static_cast<std::size_t>(reaches - reach_.begin());
           i < runs_.size() && runs_[i].run.begin < want.end; ++i) {
        const Run shared = intersection(runs_[i].run, want);
        if (!shared.empty()) {
          out.push_back({runs_[i].set, shared.length(), 1, false});
        }
      }
    }
    return joined(std::move(out), count);
  }

  /// One entry a set, by its number.
  [[nodiscard]] std::vector<Overlap> joined(std::vector<Overlap> found, std::int64_t count) const {
    std::sort(found.begin(), found.end(),
              [](const Overlap& a, const Overlap& b) { return a.set < b.set; });
    std::vector<Overlap> out;
    for (const Overlap& one : found) {
      if (!out.empty() && out.back().set == one.set) {
        out.back().count += one.count;
        out.back().runs += 1;
      } else {
        out.push_back(one);
      }
    }
    for (Overlap& one : out) {
      one.whole = one.count == count && one.count == held_.counts[at(one.set)];
    }
    return out;
  }

  const DimPieces& held_;
  const DimPieces& needed_;
  std::vector<Held> runs_;
  std::vector<std::int64_t> reach_;  // the largest end so far
  std::vector<std::vector<Overlap>> known_;
  std::vector<std::int8_t> is_known_;
};

/// Lists the moves into one piece: every combination of overlaps that some cores hold.
class Lister {
 public:
  Lister(const Pieces& held, const std::vector<DimPieces>& needed, Moves& out)
      : held_(held), out_(out) {
    for (std::size_t dim = 0; dim < needed.size(); ++dim) {
      finders_.emplace_back(held.dims[dim], needed[dim]);
    }
    for (std::size_t g = 0; g < out.held.size(); ++g) {
      group_.emplace(key(out.held[g].sets), static_cast<std::int32_t>(g));
    }
  }

  void list(std::int32_t to) {
    to_ = to;
    sets_.assign(finders_.size(), 0);
    chosen_.assign(finders_.size(), {});
    descend(0);
  }

 private:
  [[nodiscard]] std::int64_t key(const std::vector<std::int32_t>& sets) const {
    std::int64_t key = 0;
    for (std::size_t dim = 0; dim < sets.size(); ++dim) {
      key = (key * static_cast<std::int64_t>(held_.dims[dim].sets.size())) + sets[dim];
    }
    return key;
  }

  void descend(std::size_t dim) {  // NOLINT(misc-no-recursion): as deep as the tensor has dims
    if (dim == finders_.size()) {
      add();
      return;
    }
    for (const Overlap& overlap : finders_[dim](out_.needed[at(to_)].sets[dim])) {
      sets_[dim] = overlap.set;
      chosen_[dim] = overlap;
      descend(dim + 1);
    }
  }

  void add() {
    const auto found = group_.find(key(sets_));
    if (found == group_.end()) {
      return;
    }
    Move move{.from = found->second, .to = to_, .elements = 1, .runs = 1};
    bool whole = true;  // Whether all dimensions further in are whole in both pieces.
    for (std::size_t dim = chosen_.size(); dim-- > 0;) {
      move.elements *= chosen_[dim].count;
      move.runs *= whole ? chosen_[dim].runs : chosen_[dim].count;
      whole = whole && chosen_[dim].whole;
    }
    out_.moves.push_back(move);
  }

  const Pieces& held_;
  Moves& out_;
  std::vector<Finder> finders_;
  std::unordered_map<std::int64_t, std::int32_t> group_;
  std::int32_t to_ = 0;
  std::vector<std::int32_t> sets_;
  std::vector<Overlap> chosen_;
};

void list_all(const Pieces& held, const std::vector<DimPieces>& needed, Moves& out) {
  Lister lister(held, needed, out);
  for (std::size_t to = 0; to < out.needed.size(); ++to) {
    lister.list(static_cast<std::int32_t>(to));
  }
}

/// The sets of a dimension, cut where they overlap: indices that the same sets have stay together.
struct Atoms {
  DimPieces dim;
  std::vector<std::vector<std::int32_t>> of;  // of every set: its atoms
  bool apart;                                 // whether no sets overlap
};

/// Whether every set of a dimension is one run and none overlaps another.
bool disjoint(const DimPieces& dim) {
  if (!dim.sets.solid()) {
    return false;
  }
  std::vector<Run> runs;
  runs.reserve(dim.sets.size());
  for (std::size_t set = 0; set < dim.sets.size(); ++set) {
    runs.push_back(dim.sets.run(set));
  }
  const auto before = [](const Run& a, const Run& b) { return a.begin < b.begin; };
  if (!std::is_sorted(runs.begin(), runs.end(), before)) {
    std::sort(runs.begin(), runs.end(), before);
  }
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[i].begin < runs[i - 1].end) {
      return false;
    }
  }
  return true;
}

Atoms atoms_of(const DimPieces& dim) {
  std::map<std::int64_t, std::vector<std::pair<std::int32_t, bool>>> edges;
  for (std::size_t set = 0; set < dim.sets.size(); ++set) {
    for (const Run& run : dim.sets[set]) {
      edges[run.begin].emplace_back(static_cast<std::int32_t>(set), true);
      edges[run.end].emplace_back(static_cast<std::int32_t>(set), false);
    }
  }
  Atoms out{
      .dim = {}, .of = std::vector<std::vector<std::int32_t>>(dim.sets.size()), .apart = true};
  std::map<std::set<std::int32_t>, Indices> found;
  std::set<std::int32_t> inside;
  std::int64_t begin = 0;
  for (const auto& [index, changes] : edges) {
    if (!inside.empty()) {
      found[inside].push_back({.begin = begin, .end = index});
    }
    for (const auto& [set, enters] : changes) {
      if (enters) {
        inside.insert(set);
      } else {
        inside.erase(set);
      }
    }
    begin = index;
  }
  for (const auto& [sets, indices] : found) {
    out.apart = out.apart && sets.size() == 1;
    for (const std::int32_t set : sets) {
      out.of[at(set)].push_back(static_cast<std::int32_t>(out.dim.sets.size()));
    }
    out.dim.sets.push_back(indices);
    out.dim.counts.push_back(partition::count(indices));
  }
  return out;
}

/// Calls `visit` with every combination of one atom of each dimension of a piece.
template <class Visit>
void for_each_atom(const std::vector<Atoms>& atoms, const std::vector<std::int32_t>& sets,
                   const Visit& visit) {
  std::vector<std::size_t> index(sets.size(), 0);
  std::vector<std::int32_t> chosen(sets.size());
  const auto choices = [&](std::size_t dim) -> const std::vector<std::int32_t>& {
    return atoms[dim].of[at(sets[dim])];
  };
  bool more = true;
  while (more) {
    for (std::size_t dim = 0; dim < sets.size(); ++dim) {
      chosen[dim] = choices(dim)[index[dim]];
    }
    visit(chosen);
    more = false;
    for (std::size_t dim = sets.size(); dim-- > 0 && !more;) {
      more = ++index[dim] < choices(dim).size();
      index[dim] = more ? index[dim] : 0;
    }
  }
}

/// What is needed, in boxes of which none overlaps another, each with all cores that need it: what
/// several pieces have in common is sent once.
struct Boxes {
  std::vector<PieceGroup> groups;  // none where no pieces overlap
  std::vector<DimPieces> dims;
};

Boxes boxes_of(const Pieces& needed, const std::vector<PieceGroup>& whole) {
  Boxes out;
  if (std::all_of(needed.dims.begin(), needed.dims.end(), disjoint)) {
    return out;
  }
  std::vector<Atoms> atoms;
  for (const DimPieces& dim : needed.dims) {
    atoms.push_back(atoms_of(dim));
  }
  if (std::all_of(atoms.begin(), atoms.end(), [](const Atoms& dim) { return dim.apart; })) {
    return out;
  }
  std::map<std::vector<std::int32_t>, Cores> found;
  for (const PieceGroup& group : whole) {
    for_each_atom(atoms, group.sets, [&](const std::vector<std::int32_t>& chosen) {
      Cores& cores = found[chosen];
      cores.insert(cores.end(), group.cores.begin(), group.cores.end());
    });
  }
  for (auto& [sets, cores] : found) {
    std::sort(cores.begin(), cores.end());
    out.groups.push_back({.sets = sets, .cores = std::move(cores)});
  }
  for (Atoms& dim : atoms) {
    out.dims.push_back(std::move(dim.dim));
  }
  return out;
}

/// What a transfer is counted for: the bytes that are sent, the runs that arrive, or both.
struct Counted {
  bool bytes;
  bool runs;
};

Indices shared(IndexView a, IndexView b) {
  Indices out;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const Run both = intersection(a[i], b[j]);
    if (!both.empty()) {
      out.push_back(both);
    }
    (a[i].end < b[j].end ? i : j) += 1;
  }
  return out;
}

/// Whether every core that needs a piece holds that very piece.
bool in_place(const Pieces& held, const Pieces& needed) {
  for (std::size_t core = 0; core < needed.ids.size(); ++core) {
    const std::int32_t place = held.place(needed.ids[core]);
    if (place < 0) {
      return false;
    }
    for (std::size_t dim = 0; dim < needed.dims.size(); ++dim) {
      const DimPieces& have = held.dims[dim];
      const DimPieces& need = needed.dims[dim];
      const IndexView there = have.sets[have.at(at(place))];
      const IndexView wanted = need.sets[need.at(core)];
      if (!std::equal(there.begin(), there.end(), wanted.begin(), wanted.end())) {
        return false;
      }
    }
  }
  return true;
}

/// Elements that any core reads of an operand, each once; picked dimensions by their picks.
std::int64_t unique_elements(const PlacedOp& placed, std::size_t k) {
  const ir::Operand& operand = placed.op.operands[k];
  const std::vector<std::int64_t> whole = partition::sizes(placed.op);
  return partition::box(placed.graph.tensors[at(operand.tensor)], operand, whole, whole).elements;
}

std::int64_t bits_of(const PlacedOp& placed, std::size_t k) {
  return ir::bits(placed.graph.tensors[at(placed.op.operands[k].tensor)].dtype);
}

/// Elements of the busiest core's piece, as a picked dimension counts in every other piece.
std::int64_t picks(const PlacedOp& placed, std::size_t k) {
  const ir::Operand& operand = placed.op.operands[k];
  if (!operand.indirect) {
    return 1;
  }
  const std::vector<std::int64_t> tile = partition::tiling(placed.op, placed.plan.execute).tile;
  return partition::extent(placed.graph.tensors[at(operand.tensor)], operand,
                           static_cast<std::size_t>(operand.indirect->dim), tile, tile)
      .count;
}

/// Adds boxes that lie in equal shares on all cores; returns the bytes that all cores receive.
std::int64_t add_boxes(const PlacedOp& placed, std::size_t k, const std::vector<DimPieces>& dims,
                       std::vector<PieceGroup> groups, Counted counted, Exchange& exchange) {
  const partition::Box busiest =
      partition::held_box(placed.graph, placed.op, k, placed.plan.execute);
  const std::int64_t unique = unique_elements(placed, k);
  std::int64_t received = 0;
  for (PieceGroup& group : groups) {
    std::int64_t elements = picks(placed, k);
    for (std::size_t dim = 0; dim < dims.size(); ++dim) {
      elements *= dims[dim].counts[at(group.sets[dim])];
    }
    const std::int64_t bytes = partition::element_bytes(elements, bits_of(placed, k)).value;
    const partition::Box piece{.elements = elements, .runs = std::min(busiest.runs, elements)};
    received += counted.bytes ? bytes * static_cast<std::int64_t>(group.cores.size()) : 0;
    exchange.transfers.push_back(
        {.pattern = Pattern::Spread,
         .operand = static_cast<std::int32_t>(k),
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

void add_spread(const PlacedOp& placed, std::size_t k, const Pieces& needed, Exchange& exchange) {
  std::vector<PieceGroup> whole = piece_groups(needed);
  Boxes boxes = boxes_of(needed, whole);
  const bool overlapping = !boxes.groups.empty();
  std::int64_t received = 0;
  if (overlapping) {
    received = add_boxes(placed, k, boxes.dims, std::move(boxes.groups),
                         {.bytes = true, .runs = false}, exchange);
  }
  received += add_boxes(placed, k, needed.dims, std::move(whole),
                        {.bytes = !overlapping, .runs = true}, exchange);
  const std::int64_t once =
      partition::element_bytes(unique_elements(placed, k), bits_of(placed, k)).value;
  exchange.even_bytes += placed.chip.interconnect.multicast ? std::min(received, once) : received;
}

void add_moves(const PlacedOp& placed, std::size_t k, Moves found, Counted counted,
               Exchange& exchange) {
  const auto first = static_cast<std::int32_t>(exchange.groups.size());
  const auto held = static_cast<std::int32_t>(found.held.size());
  const std::int64_t bits = bits_of(placed, k);
  for (std::vector<PieceGroup>* groups : {&found.held, &found.needed}) {
    for (PieceGroup& group : *groups) {
      exchange.groups.push_back(std::move(group.cores));
    }
  }
  for (const Move& move : found.moves) {
    const std::int64_t bytes = partition::element_bytes(move.elements, bits).value;
    exchange.transfers.push_back({.pattern = Pattern::Fetch,
                                  .operand = static_cast<std::int32_t>(k),
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

Moves moves(const Pieces& held, const Pieces& needed) {
  Moves out{.held = piece_groups(held), .needed = piece_groups(needed), .moves = {}};
  list_all(held, needed.dims, out);
  return out;
}

std::vector<Indices> box_of(const Pieces& held, const Pieces& needed, const Moves& moves,
                            const Move& move) {
  std::vector<Indices> box;
  for (std::size_t dim = 0; dim < needed.dims.size(); ++dim) {
    box.push_back(shared(held.dims[dim].sets[at(moves.held[at(move.from)].sets[dim])],
                         needed.dims[dim].sets[at(moves.needed[at(move.to)].sets[dim])]));
  }
  return box;
}

void add_gather(const PlacedOp& placed, std::size_t k, const partition::Layout* have,
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
  Boxes boxes = boxes_of(needed, whole.needed);
  const bool overlapping = !boxes.groups.empty();
  if (overlapping) {
    Moves parts{.held = whole.held, .needed = std::move(boxes.groups), .moves = {}};
    list_all(held, boxes.dims, parts);
    add_moves(placed, k, std::move(parts), {.bytes = true, .runs = false}, exchange);
  }
  add_moves(placed, k, std::move(whole), {.bytes = !overlapping, .runs = true}, exchange);
}

}  // namespace elk::program
