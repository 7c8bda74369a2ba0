#pragma once

#include <vector>

#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/schedule.hpp"
#include "elk/schedule/timing/allocate.hpp"
#include "elk/schedule/timing/proposal.hpp"

namespace elk::schedule {

/// Proposals for a chip without HBM, where the weights and states of all ops stay in SRAM for the
/// whole program: from each op's fastest plan, the steps that free most resident bytes for each
/// second they add, until everything fits (T10 4.3.2, with plans in place of idle states). How much
/// SRAM that leaves to what passes through decides which plans there are: several parts are tried.
[[nodiscard]] std::vector<Proposal> residents(const Problem& problem, const Contention& contention,
                                              Bytes room);

}  // namespace elk::schedule
