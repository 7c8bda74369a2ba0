#pragma once

#include <cstdint>
#include <vector>

#include "elk/tile/fit/fit.hpp"
#include "elk/tile/tile.hpp"

/// The families of a kernel, fitted in turn with the assignment of rows to them.
namespace elk::tile {

using ProfileRows = std::vector<const ProfileRow*>;

/// Which family, in which orientation, a row is taken to come from.
struct RowFamily {
  int32_t family;
  bool transposed;

  friend bool operator==(const RowFamily&, const RowFamily&) = default;
};

/// A tile as a family sees it.
[[nodiscard]] TileCall oriented(const TileShape& shape, const FormulaNeeds& needs, bool transposed);

/// The origin that explains the row best: nearest to its cycles or, once the families have settled,
/// the cheapest. What the profile names stands. Family -1: none applies.
[[nodiscard]] RowFamily best_origin(const std::vector<Family>& families, const ProfileRow& row,
                                    bool cheapest);

/// The families of `forms`, fitted to rows that belong to one of them each. Of products and windows
/// a family takes no more columns, nor more depth, than a row that it computed has (channels of a
/// window: out are columns, in depth): far from its rows it could look cheap by mistake. The first
/// takes any.
[[nodiscard]] std::vector<Family> fit_families(const std::vector<Formula>& forms,
                                               const ProfileRows& rows, const FitOptions& options);

/// How many times the columns and the depth of its rows a family takes.
struct Slack {
  double columns;
  double depth;
};

[[nodiscard]] std::vector<Family> loosened(std::vector<Family> families, const Slack& slack);

}  // namespace elk::tile
