#pragma once

#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/schedule/problem/problem.hpp"

namespace elk::schedule {

/// A time that no plan can beat because of what cannot be on chip at the same time. `read`: HBM
/// bytes that every plan of an op reads at least, of each op; `rate`: bytes a second that come to
/// all chips at most.
///
/// While op i executes, its operands and results lie on chip, and so do those preloads that were
/// issued before, whole: a buffer lasts from the issue of its preload to the end of its execute.
/// With C bytes of SRAM in all, of which i takes s_i at least, they have A = C - s_i bytes. A
/// preload issued later begins after i has ended, for an execute blocks what follows, and preloads
/// run one after another. So between the end of i and the start of a later op j pass at least, at a
/// rate of B,
///
///     (sum of w_k that exceed A + max(0, sum of the other w_k - A)) / B    over k in (i, j]
///
/// where w_k is what op k reads. The bound is the longest way through these gaps, through executes
/// of at least e_i one after another, and through the preloads from the start, sum of w_k / B.
[[nodiscard]] double sram_bound(const Problem& problem, const Table<OpId, double>& read,
                                double rate);

}  // namespace elk::schedule
