#include "elk/program/expand/boxes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "elk/base/ids.hpp"

namespace elk::program {
namespace {

using partition::DimPieces;
using partition::IndexRange;
using partition::Indices;
using partition::Pieces;

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
  std::vector<IndexRange> runs;
  runs.reserve(dim.sets.size());
  for (std::size_t set = 0; set < dim.sets.size(); ++set) {
    runs.push_back(dim.sets.run(set));
  }
  const auto before = [](const IndexRange& a, const IndexRange& b) { return a.begin < b.begin; };
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

/// Where sets begin and end, by index: their numbers, and whether they begin.
using SetEdges = std::map<std::int64_t, std::vector<std::pair<std::int32_t, bool>>>;

SetEdges edges_of(const DimPieces& dim) {
  SetEdges edges;
  for (std::size_t set = 0; set < dim.sets.size(); ++set) {
    for (const IndexRange& run : dim.sets[set]) {
      edges[run.begin].emplace_back(static_cast<std::int32_t>(set), true);
      edges[run.end].emplace_back(static_cast<std::int32_t>(set), false);
    }
  }
  return edges;
}

/// The indices of a dimension by the sets that have them.
std::map<std::set<std::int32_t>, Indices> by_sets(const DimPieces& dim) {
  std::map<std::set<std::int32_t>, Indices> found;
  std::set<std::int32_t> inside;
  std::int64_t begin = 0;
  for (const auto& [index, changes] : edges_of(dim)) {
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
  return found;
}

Atoms atoms_of(const DimPieces& dim) {
  Atoms out{
      .dim = {}, .of = std::vector<std::vector<std::int32_t>>(dim.sets.size()), .apart = true};
  for (const auto& [sets, indices] : by_sets(dim)) {
    out.apart = out.apart && sets.size() == 1;
    for (const std::int32_t set : sets) {
      out.of[subscript(set)].push_back(static_cast<std::int32_t>(out.dim.sets.size()));
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
    return atoms[dim].of[subscript(sets[dim])];
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

}  // namespace

Boxes boxes(const Pieces& needed, const std::vector<PieceGroup>& whole) {
  Boxes out;
  if (std::all_of(needed.dims.begin(), needed.dims.end(), disjoint)) {
    return out;
  }
  std::vector<Atoms> atoms;
  atoms.reserve(needed.dims.size());
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
  out.dims.reserve(atoms.size());
  for (Atoms& dim : atoms) {
    out.dims.push_back(std::move(dim.dim));
  }
  return out;
}

}  // namespace elk::program
