#pragma once

#include "elk/cost/floor/layout_floor.hpp"
#include "elk/schedule/bound/neighbour_forest.hpp"
#include "elk/schedule/bound/neighbour_pieces.hpp"

namespace elk::schedule {

/// Seconds that it takes to bring what one cut leaves to where another needs it: d(c, c') of
/// docs/bounds.md, where all of it counts.
class NeighbourDistance {
 public:
  explicit NeighbourDistance(const NeighbourForest& wiring);

  /// A piece, on average over all ports.
  [[nodiscard]] double spread(const PieceNeed& piece, const cost::LayoutFloor& own) const;
  /// One that is not alike, at the busiest port and with what it takes in any case; `spread` of it
  /// is known, and `free` does not count of what the execute takes longer.
  [[nodiscard]] double fetch(const PieceNeed& piece, const Reading& need,
                             const cost::LayoutFloor& own, double spread, double free) const;

 private:
  double cores_;
  bool executes_;
};

}  // namespace elk::schedule
