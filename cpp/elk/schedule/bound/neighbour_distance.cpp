#include "elk/schedule/bound/neighbour_distance.hpp"

#include <algorithm>

namespace elk::schedule {

NeighbourDistance::NeighbourDistance(const NeighbourForest& wiring)
    : cores_(static_cast<double>(chip::total_cores(wiring.problem().chip()))),
      executes_(wiring.summed() == NeighbourSum::Executes) {}

double NeighbourDistance::spread(const PieceNeed& piece, const cost::LayoutFloor& own) const {
  const double missed = static_cast<double>(own.elements) - (cores_ * piece.held);
  return std::max(0.0, missed) * own.element_time;
}

double NeighbourDistance::fetch(const PieceNeed& piece, const Reading& need,
                                const cost::LayoutFloor& own, double spread, double free) const {
  const double fragment = own.fragment.value;
  if (need.moves) {
    return spread + (executes_ ? fragmented(piece, need, fragment, free) : 0.0);
  }
  const double busiest = executes_ ? (piece.needed - piece.found) * cores_ * own.element_time : 0.0;
  return std::max(spread, busiest) + ((fragments(piece, 1.0) - 1.0) * fragment) +
         own.exchange.value;
}

}  // namespace elk::schedule
