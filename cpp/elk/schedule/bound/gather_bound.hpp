#pragma once

#include <vector>

#include "elk/base/units.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/schedule.hpp"

namespace elk::schedule {

/// A time that no plan can beat, because preloads are issued between executes: where one passes
/// while an op computes, preloads passed all the time in which that op gathered what it reads, and
/// shared its ports. At prices of what passes and of what is met (`GatherPrices`), with T the time,
///
///     T >= sum over ops of (counted_executes) + sum over preloads of (counted_load)
///          - sum over stores of (counted_store)
///
/// of the least of all cuts, beside their neighbours (`neighbour_bound`); docs/bounds.md has the
/// proof. Nothing where that would hardly be more than `known`, on grids, on several chips taken
/// as one, where exchanges hide behind compute, and where HBM data are not multicast or come in
/// fits. `read`: bytes that each op reads, `rate`: of the HBM.
[[nodiscard]] Seconds gather_bound(const Problem& problem, const std::vector<double>& read,
                                   double rate, const Bounds& known);

}  // namespace elk::schedule
