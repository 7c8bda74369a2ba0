#pragma once

#include <span>

#include "elk/base/units.hpp"
#include "elk/schedule/problem.hpp"
#include "elk/schedule/schedule.hpp"

namespace elk::schedule {

/// A time that no plan of design 3.1 on this chip can beat (design 6.5). Each op takes one plan, so
/// for any weights a, b, c >= 0 with sum 1
///
///     T >= sum over ops of min over plans (a e + b r + c h)
///
/// because executes follow one another (e: execution alone with nothing to fetch), every port
/// carries what its core receives (r: bytes with HBM operands at execute size, over all ports), and
/// preloads follow one another (h: bytes of the busiest chip at the HBM's peak). The corners are in
/// `execute`, `link` and `hbm`; the bound is the best of a grid of weights.
[[nodiscard]] Bounds bounds(const Problem& problem, Seconds ideal);

/// The bounds of all plans that any one of `spaces` (at least one) has: the least of theirs.
[[nodiscard]] Bounds least_bounds(std::span<const Bounds> spaces);

}  // namespace elk::schedule
