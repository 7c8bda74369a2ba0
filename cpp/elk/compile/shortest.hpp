#pragma once

#include <functional>
#include <vector>

#include "elk/compile/compile.hpp"
#include "elk/train/shard.hpp"

namespace elk::compile {

/// The plan that a sharding leads to; throws Infeasible.
using PlanOf = std::function<Plan(const train::Sharding&)>;

/// The plan of the proposals that serves the objective best: the first, and each later one that
/// might undercut what was found, since the executes and HBM bytes of its graph alone do and its
/// estimate is not far above. Where none fits, that of `resort`; the error is the first proposal's
/// if that does not fit either.
[[nodiscard]] Plan shortest(const std::vector<train::Sharding>& proposals,
                            const std::function<train::Sharding()>& resort, const PlanOf& plan_of);

}  // namespace elk::compile
