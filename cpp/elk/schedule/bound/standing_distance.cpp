#include "elk/schedule/bound/standing_distance.hpp"

#include <algorithm>

namespace elk::schedule {

Distance::Distance(const Wiring& wiring)
    : cores_(static_cast<double>(chip::total_cores(wiring.problem().chip()))),
      executes_(wiring.standings() == Standings::Executes) {
  if (wiring.priced() != nullptr) {
    still_ = wiring.priced()->still;
    uneven_ = wiring.priced()->uneven;
  }
}

double Distance::spread(const Piece& piece, const cost::Standing& own) const {
  const double missed = static_cast<double>(own.elements) - (cores_ * piece.held);
  return std::max(0.0, missed) * own.element_time;
}

double Distance::fetch(const Piece& piece, const Reading& need, const cost::Standing& own,
                       double spread, double free) const {
  const double fragment = uneven_ * own.fragment.value;
  if (need.moves) {
    return spread + (executes_ ? fragmented(piece, need, fragment, free) : 0.0);
  }
  const double busiest = executes_ ? (piece.needed - piece.found) * cores_ * own.element_time : 0.0;
  return spread + (uneven_ * std::max(0.0, busiest - spread)) +
         ((fragments(piece, 1.0) - 1.0) * fragment) + still(own);
}

}  // namespace elk::schedule
