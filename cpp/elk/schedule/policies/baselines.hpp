#pragma once

#include <cstddef>
#include <vector>

#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/timing/allocate.hpp"
#include "elk/schedule/timing/proposal.hpp"

namespace elk::schedule {

/// ELK 6.1 `Basic`: the fastest plan that fits beside the live activations; the next op with HBM
/// data preloads during an execute, in the largest state that fits in what is left.
[[nodiscard]] Proposal basic(Problem& problem, const Contention& contention, Bytes room);

/// ELK 6.1 `Static`: one split of SRAM for the whole model, the best by forecast of 64 steps, with
/// all preloads in their largest state or all in their smallest. Best first; never more than
/// `count`.
[[nodiscard]] std::vector<Proposal> fixed_splits(const Problem& problem,
                                                 const Contention& contention, Bytes room,
                                                 std::size_t count, int threads);

}  // namespace elk::schedule
