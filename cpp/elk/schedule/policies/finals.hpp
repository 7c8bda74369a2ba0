#pragma once

#include <optional>
#include <span>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/schedule/policies/found.hpp"
#include "elk/schedule/policies/placement.hpp"
#include "elk/schedule/policies/registry.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/schedule.hpp"

namespace elk::schedule {

/// The placed program of `policy` with the shortest forecast; none if no contender has addresses.
/// `contenders` has those of all policies, shortest first.
[[nodiscard]] std::optional<PlacedCandidate> shortest_placed(const Problem& problem, Policy policy,
                                                             std::span<const Contender> contenders,
                                                             Bytes room, int threads);

/// The best of `finals`, of which there is at least one, by the judge of `options`; one that is
/// alone needs none. What the judge said is left in `finals` and not asked again; the result has it
/// only if it was to be asked here.
[[nodiscard]] Found best_of(std::vector<Found>& finals, const SearchOptions& options);

/// Throws `Infeasible`: of `shortage`, the least that any proposal had, or, where buffers of all
/// fit in sum, of addresses.
[[noreturn]] void refuse(const Problem& problem, Bytes room,
                         const std::optional<Shortage>& shortage);

}  // namespace elk::schedule
