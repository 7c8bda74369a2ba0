#include "elk/schedule/bound/neighbour_distance.hpp"

#include <algorithm>

namespace elk::schedule {

NeighbourDistance::NeighbourDistance(const NeighbourForest& wiring)
    : cores_(static_cast<double>(chip::total_cores(wiring.problem().chip()))),
      executes_(wiring.summed() == NeighbourSum::Executes) {
  if (wiring.gather_times() != nullptr) {
    still_ = wiring.gather_times()->still;
    uneven_ = wiring.gather_times()->uneven;
  }
}

double NeighbourDistance::spread(const PieceNeed& piece, const cost::LayoutFloor& own) const {
  const double missed = static_cast<double>(own.elements) - (cores_ * piece.held);
  return std::max(0.0, missed) * own.element_time;
}

double NeighbourDistance::fetch(const PieceNeed& piece, const Reading& need,
                                const cost::LayoutFloor& own, double spread, double free) const {
  const double fragment = uneven_ * own.fragment.value;
  if (need.moves) {
    return spread + (executes_ ? fragmented(piece, need, fragment, free) : 0.0);
  }
  const double busiest = executes_ ? (piece.needed - piece.found) * cores_ * own.element_time : 0.0;
  return spread + (uneven_ * std::max(0.0, busiest - spread)) +
         ((fragments(piece, 1.0) - 1.0) * fragment) + still(own);
}

}  // namespace elk::schedule
