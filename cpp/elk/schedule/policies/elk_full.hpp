#pragma once

#include <vector>

#include "elk/base/units.hpp"
#include "elk/base/watch.hpp"
#include "elk/schedule/improve/orders.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/schedule.hpp"
#include "elk/schedule/timing/allocate.hpp"
#include "elk/schedule/timing/proposal.hpp"

namespace elk::schedule {

struct FullOptions {
  Effort effort;
  int threads;
  Bytes room;  // of a core
  Watch* watch = nullptr;
};

/// ELK-Full: `start` in the best of the valid preload orders, and that annealed, under all of the
/// room and under a little less, for what fits in sum need not fit in addresses. Chains of changes
/// run side by side; each has a seed of its own and counts work, so that the answer depends on
/// neither threads nor time. Adds the plans that it takes to the fronts where they are missing.
[[nodiscard]] std::vector<Proposal> improve(Problem& problem, const Proposal& start,
                                            const Contention& contention,
                                            const FullOptions& options, OrderSearch& search);

}  // namespace elk::schedule
