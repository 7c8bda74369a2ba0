#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/intervals.hpp"
#include "elk/partition/layout.hpp"

namespace elk::partition {

using Indices = std::vector<Interval<std::int64_t>>;  // disjoint, ascending, not touching

[[nodiscard]] std::int64_t count(const Indices& indices);
[[nodiscard]] std::int64_t common(const Indices& a, const Indices& b);
[[nodiscard]] Indices united(std::vector<Indices> parts);

/// The sets of indices that cores hold of one dimension.
struct DimPieces {
  std::vector<Indices> sets;
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
  bool dense;  // whether core ids are 0, 1, 2, ...
};

}  // namespace elk::partition
