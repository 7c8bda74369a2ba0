#pragma once

#include "elk/schedule/problem/neighbour_sums.hpp"

namespace elk::schedule {

/// What `gather_bound` counts of preloads and of exchanges that meet them.
struct GatherPrices {
  double passing;  // of a second in which a preload passes, at most
  double meeting;  // of a second of an exchange that one meets; with `passing` 1 at most
  double shield;   // seconds that one preload may spare exchanges, at most
};

/// What of a chip decides how preloads and exchanges meet.
struct PortFacts {
  double filled;  // the share of all ports that the HBM fills at its best
  double sync;    // seconds before the data of an exchange at most
  double late;    // by which data of the HBM begin to come after those of an exchange, at most
};

/// Seconds that a preload counts at least, if the HBM needs `hbm` for it.
[[nodiscard]] double counted_load(const cost::GatherFloor& cut, double hbm,
                                  const GatherPrices& prices, const PortFacts& ports);

/// Seconds that a store takes off at most that takes `hbm` and, of the busiest port, `port`.
[[nodiscard]] double counted_store(double hbm, double port, const GatherPrices& prices);

/// Seconds that executes of a cut count at least, but for what passes of preloads meanwhile.
[[nodiscard]] GatherTimes::CutSeconds counted_executes(const cost::GatherFloor& cut,
                                                       const GatherPrices& prices,
                                                       const PortFacts& ports);

}  // namespace elk::schedule
