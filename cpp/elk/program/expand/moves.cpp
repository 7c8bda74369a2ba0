#include "elk/program/expand/moves.hpp"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>

#include "elk/base/ids.hpp"

namespace elk::program {
namespace {

using partition::DimPieces;
using partition::IndexRange;
using partition::IndexView;
using partition::Indices;
using partition::Pieces;
using partition::SetRange;
using partition::shared;

/// What two sets of one dimension have in common.
struct SetOverlap {
  std::int32_t set;    // of the held layout
  std::int64_t count;  // indices
  std::int64_t runs;   // contiguous ones
  bool whole;          // whether it is all of both sets
};

/// Finds the held sets of a dimension that share indices with a needed one.
class Finder {
 public:
  Finder(const DimPieces& held, const DimPieces& needed)
      : held_(held), needed_(needed), known_(needed.sets.size()), is_known_(needed.sets.size(), 0) {
    for (std::size_t set = 0; set < held.sets.size(); ++set) {
      for (const IndexRange& run : held.sets[set]) {
        runs_.push_back({run, static_cast<std::int32_t>(set)});
      }
    }
    std::sort(runs_.begin(), runs_.end(), [](const SetRange& a, const SetRange& b) {
      return std::pair(a.run.begin, a.set) < std::pair(b.run.begin, b.set);
    });
    std::int64_t reach = 0;
    for (const SetRange& one : runs_) {
      reach = std::max(reach, one.run.end);
      reach_.push_back(reach);
    }
  }

  [[nodiscard]] const std::vector<SetOverlap>& operator()(std::int32_t set) {
    if (is_known_[subscript(set)] == 0) {
      known_[subscript(set)] = find(needed_.sets[subscript(set)], needed_.counts[subscript(set)]);
      is_known_[subscript(set)] = 1;
    }
    return known_[subscript(set)];
  }

 private:
  [[nodiscard]] std::vector<SetOverlap> find(IndexView wanted, std::int64_t count) const {
    std::vector<SetOverlap> out;
    for (const IndexRange& want : wanted) {
      const auto reaches = std::upper_bound(reach_.begin(), reach_.end(), want.begin);
      for (auto i = static_cast<std::size_t>(reaches - reach_.begin());
           i < runs_.size() && runs_[i].run.begin < want.end; ++i) {
        const IndexRange shared = intersection(runs_[i].run, want);
        if (!shared.empty()) {
          out.push_back({runs_[i].set, shared.length(), 1, false});
        }
      }
    }
    return joined(std::move(out), count);
  }

  /// One entry a set, by its number.
  [[nodiscard]] std::vector<SetOverlap> joined(std::vector<SetOverlap> found,
                                               std::int64_t count) const {
    std::sort(found.begin(), found.end(),
              [](const SetOverlap& a, const SetOverlap& b) { return a.set < b.set; });
    std::vector<SetOverlap> out;
    for (const SetOverlap& one : found) {
      if (!out.empty() && out.back().set == one.set) {
        out.back().count += one.count;
        out.back().runs += 1;
      } else {
        out.push_back(one);
      }
    }
    for (SetOverlap& one : out) {
      one.whole = one.count == count && one.count == held_.counts[subscript(one.set)];
    }
    return out;
  }

  const DimPieces& held_;
  const DimPieces& needed_;
  std::vector<SetRange> runs_;
  std::vector<std::int64_t> reach_;  // the largest end so far
  std::vector<std::vector<SetOverlap>> known_;
  std::vector<std::int8_t> is_known_;
};

/// Finds pieces by the numbers of their sets, read as one number: in a table where it is small.
class GroupIndex {
 public:
  GroupIndex(const Pieces& held, const std::vector<PieceGroup>& groups) : held_(held) {
    double keys = 1.0;
    for (const DimPieces& dim : held.dims) {
      keys *= static_cast<double>(dim.sets.size());
    }
    if (keys <= kMostKeys * static_cast<double>(groups.size())) {
      table_.assign(static_cast<std::size_t>(keys), -1);
    }
    for (std::size_t g = 0; g < groups.size(); ++g) {
      std::int64_t key = 0;
      for (std::size_t dim = 0; dim < groups[g].sets.size(); ++dim) {
        key = key_of(key, dim, groups[g].sets[dim]);
      }
      if (table_.empty()) {
        sparse_.emplace(key, static_cast<std::int32_t>(g));
      } else {
        table_[subscript(key)] = static_cast<std::int32_t>(g);
      }
    }
  }

  /// The key of sets of which those of the dimensions before `dim` have the key `outer`.
  [[nodiscard]] std::int64_t key_of(std::int64_t outer, std::size_t dim, std::int32_t set) const {
    return (outer * static_cast<std::int64_t>(held_.dims[dim].sets.size())) + set;
  }

  /// The number of the group with `key`, or -1.
  [[nodiscard]] std::int32_t operator()(std::int64_t key) const {
    if (!table_.empty()) {
      return table_[subscript(key)];
    }
    const auto found = sparse_.find(key);
    return found == sparse_.end() ? -1 : found->second;
  }

 private:
  static constexpr double kMostKeys = 8.0;  // in the table, for each group

  const Pieces& held_;
  std::vector<std::int32_t> table_;
  std::unordered_map<std::int64_t, std::int32_t> sparse_;
};

/// Lists the moves into one piece: every combination of overlaps that some cores hold.
class MoveLister {
 public:
  MoveLister(const Pieces& held, const std::vector<DimPieces>& needed, Moves& out)
      : out_(out), groups_(held, out.held), overlaps_(needed.size()), chosen_(needed.size()) {
    finders_.reserve(needed.size());
    for (std::size_t dim = 0; dim < needed.size(); ++dim) {
      finders_.emplace_back(held.dims[dim], needed[dim]);
    }
  }

  void list(std::int32_t to) {
    to_ = to;
    const std::vector<std::int32_t>& sets = out_.needed[subscript(to)].sets;
    for (std::size_t dim = 0; dim < finders_.size(); ++dim) {
      overlaps_[dim] = &finders_[dim](sets[dim]);
    }
    descend(0, 0);
  }

 private:
  /// Chooses an overlap of `dim` and of all after it; `key` is of the sets chosen before.
  void descend(std::size_t dim, std::int64_t key) {  // NOLINT(misc-no-recursion): as deep as dims
    if (dim == finders_.size()) {
      add(key);
      return;
    }
    for (const SetOverlap& overlap : *overlaps_[dim]) {
      chosen_[dim] = &overlap;
      descend(dim + 1, groups_.key_of(key, dim, overlap.set));
    }
  }

  void add(std::int64_t key) {
    const std::int32_t from = groups_(key);
    if (from < 0) {
      return;
    }
    Move move{.from = from, .to = to_, .elements = 1, .runs = 1};
    bool whole = true;  // Whether all dimensions further in are whole in both pieces.
    for (std::size_t dim = chosen_.size(); dim-- > 0;) {
      const SetOverlap& overlap = *chosen_[dim];
      move.elements *= overlap.count;
      move.runs *= whole ? overlap.runs : overlap.count;
      whole = whole && overlap.whole;
    }
    out_.moves.push_back(move);
  }

  Moves& out_;
  GroupIndex groups_;
  std::vector<Finder> finders_;
  std::int32_t to_ = 0;
  std::vector<const std::vector<SetOverlap>*> overlaps_;  // of every dimension
  std::vector<const SetOverlap*> chosen_;
};

}  // namespace

void list_moves(const Pieces& held, const std::vector<DimPieces>& needed, Moves& out) {
  MoveLister lister(held, needed, out);
  for (std::size_t to = 0; to < out.needed.size(); ++to) {
    lister.list(static_cast<std::int32_t>(to));
  }
}

Moves moves(const Pieces& held, const Pieces& needed) {
  Moves out{.held = piece_groups(held), .needed = piece_groups(needed), .moves = {}};
  list_moves(held, needed.dims, out);
  return out;
}

}  // namespace elk::program
