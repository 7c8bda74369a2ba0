#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elk/base/intervals.hpp"
#include "elk/partition/layout/layout.hpp"

namespace elk::partition {

using IndexRange = Interval<std::int64_t>;
using Indices = std::vector<IndexRange>;  // disjoint, ascending, not touching
using IndexView = std::span<const IndexRange>;

[[nodiscard]] std::int64_t count(IndexView indices);
[[nodiscard]] std::int64_t common(IndexView a, IndexView b);
/// The indices that both sets have.
[[nodiscard]] Indices shared(IndexView a, IndexView b);

/// A range of indices, and which of some sets it belongs to.
struct SetRange {
  IndexRange run;
  std::int32_t set;
};

/// Sets of indices, stored one after another.
class IndexSets {
 public:
  [[nodiscard]] std::size_t size() const { return first_.size() - 1; }
  [[nodiscard]] IndexView operator[](std::size_t set) const {
    return IndexView(runs_).subspan(first_[set], first_[set + 1] - first_[set]);
  }
  /// Whether every set is one run.
  [[nodiscard]] bool solid() const { return solid_; }
  /// The run of a set, where sets are solid.
  [[nodiscard]] const IndexRange& run(std::size_t set) const { return runs_[set]; }

  void reserve(std::size_t sets);
  void push_back(IndexView set);

 private:
  Indices runs_;
  std::vector<std::size_t> first_{0};
  bool solid_ = true;
};

/// What any of the marked sets holds; all of them where `marked` is empty.
[[nodiscard]] Indices united(const IndexSets& sets, const std::vector<char>& marked);

/// The sets of indices that cores hold of one dimension.
struct DimPieces {
  IndexSets sets;
  std::vector<std::int64_t> counts;  // of each set
  std::vector<std::int32_t> set_of;  // of each core in use, by its place; empty: all hold set 0

  [[nodiscard]] std::size_t at(std::size_t place) const {
    return set_of.empty() ? 0 : static_cast<std::size_t>(set_of[place]);
  }
};

/// A layout spelled out: every core's piece is the product of one set a dimension.
struct Pieces {
  explicit Pieces(const Layout& of);

  /// The place in `ids` of a core, -1 if it holds nothing.
  [[nodiscard]] std::int32_t place(std::int64_t core) const;

  const Layout& layout;
  std::vector<std::int64_t> ids;  // of the cores in use
  std::vector<DimPieces> dims;
  bool dense = true;  // whether core ids are 0, 1, 2, ...
};

/// Whether cores may hold, piece by piece, just what they need: the tensor is the same, and no
/// piece is cut further.
[[nodiscard]] bool comparable(const Layout& have, const Layout& need);

/// Of comparable layouts, whether every core holds exactly the piece it needs.
[[nodiscard]] bool same(const Pieces& have, const Pieces& need);

}  // namespace elk::partition
