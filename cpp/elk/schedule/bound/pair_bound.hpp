#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/schedule/problem/neighbour_sums.hpp"
#include "elk/schedule/problem/problem.hpp"

namespace elk::schedule {

/// What some stretches of the model take at least, each from the begin of its first execute to the
/// end of its last: what their ops take each by itself, and the gain.
struct PairBound {
  std::vector<std::int32_t> ops;  // all ops in them
  Seconds gain{0.0};
  std::vector<ExtraTime> extra;  // of each op: what counts of it beside the gain
};

/// Two ops i and k whose fastest cuts have so many copies of their HBM data in SRAM that one does
/// not fit beside the other. Either the preload of k is issued before i executes, and lies beside
/// what i needs; what has no room comes in exchanges of the executes, over the ports. Or it is
/// issued later: it begins when i has ended, and ends before k begins. So the stretch takes at
/// least
///
///     m + min over cuts of both (e_i + e_k + min(f, p)),
///     f = (w_i + s_i + w_k - C) / R,  p = max(w_k / R, h_k) - m
///
/// with f and p 0 at least: m is what the ops between them take, w are a core's HBM data
/// and s what it holds beside them (`cost::SramFloor`), C is its SRAM, R the rate of its port, and
/// h_k the time in which the HBM gives what k reads. Stretches are chosen so that none meet and
/// what they add is most.
///
/// What a stretch adds, G, counts beside what else is known of its ops, but for what may be counted
/// in both: of i and k, that a cut takes up to G longer than the fastest; of the ops between, what
/// exceeds m by more than a in all, where G is the same with m + a for m in p. a is at most eight
/// times m, and each op has its share. `read`: bytes that each op reads, `rate`: of the HBM.
[[nodiscard]] PairBound pair_bound(const Problem& problem, const std::vector<double>& read,
                                   double rate);

}  // namespace elk::schedule
