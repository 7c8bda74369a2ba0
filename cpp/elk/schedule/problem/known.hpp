#pragma once

#include <cstddef>

#include "elk/schedule/problem/handovers.hpp"
#include "elk/schedule/problem/link_counts.hpp"
#include "elk/schedule/problem/neighbour_sums.hpp"

namespace elk::schedule {

/// What problems leave for later ones, of the same model and tile model, each entry under all that
/// it depends on.
struct ProblemShelves {
  Handovers handovers{std::size_t{24} << 20U};
  LinkCounts gathers{std::size_t{32} << 20U};
  PreloadCounts preloads{std::size_t{24} << 20U};
  KnownNeighbours neighbours{std::size_t{24} << 20U};
};

}  // namespace elk::schedule
