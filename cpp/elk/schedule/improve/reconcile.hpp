#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/schedule.hpp"
#include "elk/schedule/timing/allocate.hpp"
#include "elk/schedule/timing/idle.hpp"
#include "elk/schedule/timing/proposal.hpp"

namespace elk::schedule {

/// A point that T10's trade of memory explored: what all ops keep on a core all the time, the most
/// that is in use at any execute, and the sum of executes with their setups.
struct IdlePoint {
  Bytes idle;
  Bytes peak;
  double seconds;
};

/// What Algorithm 1 of T10 makes of a model on a chip without HBM.
struct Reconciliation {
  std::vector<IdlePoint> explored;  // points that fit, in the order of the steps
  Table<OpId, Choice> best;         // the fastest of them, or what needs least where none fits
  double seconds = std::numeric_limits<double>::infinity();  // of `best`; infinite: none fits
};

/// Whether to stop at the first point that fits: all ops at their least idle memory, if that does.
enum class Explore : std::uint8_t { First, All };

/// The room that there is, and how much of it idle memory leaves to an execute and what lives.
struct ReconcileLimits {
  Bytes room;
  Bytes active;  // what an execute and what lives take at most; `room`: whatever idle memory leaves
  Explore what = Explore::All;
  Gathers gathers = Gathers::Everything;
};

/// Starts with every op at its least idle memory, and gives more to one op at a time: to the one
/// that it saves most seconds for each byte. At each step every op takes the fastest plan that fits
/// beside the idle memory of all ops and the activations that live (T10 4.3.2, Algorithm 1). A plan
/// is weighed with the setup that its idle state leaves it. Fewer active bytes than the room has
/// let idle memory grow further, beside smaller plans.
[[nodiscard]] Reconciliation reconcile(const Problem& problem, const Contention& contention,
                                       const ReconcileLimits& limits);

/// The best in all of the room and, for what fits in sum need not fit in addresses, with more and
/// more of it left unused.
[[nodiscard]] std::vector<Proposal> reconciled(const Problem& problem, const Contention& contention,
                                               const ReconcileLimits& limits);

}  // namespace elk::schedule
