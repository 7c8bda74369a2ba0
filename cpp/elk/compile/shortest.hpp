#pragma once

#include <functional>
#include <vector>

#include "elk/compile/compile.hpp"
#include "elk/train/shard.hpp"

namespace elk::compile {

/// The plan that a sharding leads to; throws Infeasible.
using PlanOf = std::function<Plan(const train::Sharding&)>;

/// The plan of a pod as one machine. All functions throw Infeasible.
struct Pooled {
  Picoseconds about;                    // by an estimate
  std::function<Picoseconds()> glance;  // by a quicker search; empty where the plan's is quick
  double overestimate;                  // up to this part of what was found a glance is worth it
  std::function<Plan()> plan;
  std::function<bool(const Plan& best, const Plan& plan)> beats;  // whether it is the better one
};

/// The plan of the proposals that serves the objective best: the first, and each later one that
/// might undercut what was found, since the executes and HBM bytes of its graph alone do and its
/// estimate is not far above. Where none fits, that of `resort`. Then that of `pooled`, where
/// nothing was found, or where neither its estimate is a tenth above that of the first sharding nor
/// its glance above its part of what was found. The error is the first proposal's if nothing fits.
[[nodiscard]] Plan shortest(const std::vector<train::Sharding>& proposals,
                            const std::function<train::Sharding()>& resort, const PlanOf& plan_of,
                            const Pooled& pooled);

}  // namespace elk::compile
