#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/schedule/problem/neighbour_sums.hpp"
#include "elk/schedule/problem/problem.hpp"

namespace elk::schedule {

/// Each op whose cuts are known by how its activations lie (`cost::LayoutFloor`) hangs on the one
/// that makes its operand, if those of that one are known, too. So they form trees, in which
///
///     t(c) = e(c) + sum over the ops that hang on it of min over their cuts c' of (d(c, c') +
///     t(c'))
///
/// is the least that an op with cut c and all behind it take. d is 0 if the operand may lie as c'
/// needs it, or c' has an exchange in any case; else an exchange's sync and a fragment for each
/// core that the busiest one receives from: none holds more of a piece than the product over
/// dimensions of the lesser of what any core may hold and need. To it come the elements that no
/// core has in place: all, less for each core the product over dimensions of the lesser of what it
/// may hold and need. The bound is the sum of min t over the roots. `extra`: what counts of
/// e and d, by op, if not all.
[[nodiscard]] NeighbourBound neighbour_bound(const Problem& problem, NeighbourSum summed,
                                             std::span<const ExtraTime> extra = {});

}  // namespace elk::schedule
