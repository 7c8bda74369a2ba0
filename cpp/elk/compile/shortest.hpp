#pragma once

#include <functional>
#include <vector>

#include "elk/base/watch.hpp"
#include "elk/compile/compile.hpp"
#include "elk/shard/shard.hpp"

namespace elk::compile {

/// The plan of a pod as one machine.
struct PooledPlan {
  Picoseconds about;  // by an estimate
  std::function<Plan(schedule::Policy)> plan;
};

/// All that a plan of a pod may be. Functions that plan throw Infeasible.
struct Entrants {
  const std::vector<shard::Sharding>& proposals;
  std::function<shard::Sharding()> resort;
  std::function<Plan(const shard::Sharding&, schedule::Policy)> plan_of;
  const PooledPlan& pooled;
  std::function<bool(Plan& best, Plan& plan)> beats;  // whether the latter is the better one
};

/// The plan that serves the objective best. A policy tries the first proposal, and each later one
/// that might undercut what it found, since the executes and HBM bytes of its graph alone do and
/// its estimate is not far above. Where none fits, that of `resort`. Then that of `pooled`, where
/// nothing was found, or where neither its estimate is a tenth above that of the first sharding
/// nor, under ELK-Full, what ELK-Dyn finds is a tenth above what was found.
///
/// `policies` has the asked one first, then those below it. What one of these would try and the
/// asked one does not is planned as that policy plans it: of all that was planned the best counts,
/// so that a policy never returns worse than one below. The error is the first proposal's if
/// nothing fits.
[[nodiscard]] Plan shortest(const Entrants& entrants, const std::vector<schedule::Policy>& policies,
                            const Watch* watch);

}  // namespace elk::compile
