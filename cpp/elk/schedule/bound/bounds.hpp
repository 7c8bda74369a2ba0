#pragma once

#include <span>

#include "elk/base/units.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/schedule.hpp"

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
///
/// Ports that preloads share with exchanges bind it, too. Exchanges carry data for a time X, all
/// else is I. Of op k's preload, t_k seconds run in I, and their sum is I at most. All ports
/// together would take Q_k for what the op's cut needs from HBM, copies included, and the HBM h_k
/// for it, at which it fills a share s of the ports; every byte comes in at one port at least. So
/// in X are left of it no less than Q_k - t_k, nor s (h_k - t_k), nor any mean of the two or less.
/// With C_k for what the exchanges carry, and any price p of a second t_k, 0 <= p <= 1, that is
///
///     T = I + X >= sum of (1 - p) I_k + C_k + (p - m) Q_k + m h_k
///
/// where each op has its own m, 0 <= m <= p and m (1 - s) <= s (1 - p), and the least of its cuts.
///
/// In either sum the executes of some ops may count together (`neighbour_bound`): a D instead of
/// their a e, and (1 - p) D instead of their (1 - p) (I + C), each beside the least of what is
/// left. In the first, stretches of ops may count by what they take where two of them do not fit
/// in SRAM together (`pair_bound`).
[[nodiscard]] Bounds bounds(const Problem& problem, Seconds ideal);

/// The bounds of all plans that any one of `spaces` (at least one) has: the least of theirs.
[[nodiscard]] Bounds least_bounds(std::span<const Bounds> spaces);

}  // namespace elk::schedule
