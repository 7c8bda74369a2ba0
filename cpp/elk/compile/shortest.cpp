#include "elk/compile/shortest.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/compile/aim.hpp"

namespace elk::compile {
namespace {

/// How far a plan may be below the estimate of its sharding.
constexpr double kOverestimate = 1.5;

bool may_win(const train::Sharding& sharding, Picoseconds best) {
  return sharding.least < best &&
         static_cast<double>(sharding.time.value) < kOverestimate * static_cast<double>(best.value);
}

}  // namespace

Plan shortest(const std::vector<train::Sharding>& proposals,
              const std::function<train::Sharding()>& resort, const PlanOf& plan_of) {
  std::optional<Plan> best;
  Picoseconds latency{0};  // the least so far
  std::exception_ptr why;
  const auto consider = [&](const train::Sharding& sharding) {
    try {
      Plan plan = plan_of(sharding);
      const Picoseconds own = shortest_latency(plan);
      latency = best ? std::min(latency, own) : own;
      if (!best || worth(plan) < worth(*best)) {
        best = std::move(plan);
      }
    } catch (const Infeasible&) {
      why = why ? why : std::current_exception();
    }
  };
  for (const train::Sharding& sharding : proposals) {
    if (!best || may_win(sharding, latency)) {
      consider(sharding);
    }
  }
  if (!best) {
    consider(resort());
  }
  if (!best) {
    std::rethrow_exception(why);
  }
  return std::move(*best);
}

}  // namespace elk::compile
