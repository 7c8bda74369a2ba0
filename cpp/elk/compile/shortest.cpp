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

/// How far a pooled plan may be above what it has to undercut, by an estimate as that of the
/// fastest sharding, since both err alike, and at a glance as what was found.
constexpr double kPooledOverestimate = 1.1;

bool is_near(Picoseconds time, Picoseconds other) {
  return static_cast<double>(time.value) < kPooledOverestimate * static_cast<double>(other.value);
}

bool may_win(const train::Sharding& sharding, Picoseconds best) {
  return sharding.least < best &&
         static_cast<double>(sharding.time.value) < kOverestimate * static_cast<double>(best.value);
}

bool may_win(const Pooled& pooled, const train::Sharding& fastest, Picoseconds best) {
  if (!is_near(pooled.about, fastest.time)) {
    return false;
  }
  try {
    return !pooled.glance || is_near(pooled.glance(), best);
  } catch (const Infeasible&) {
    return false;
  }
}

}  // namespace

Plan shortest(const std::vector<train::Sharding>& proposals,
              const std::function<train::Sharding()>& resort, const PlanOf& plan_of,
              const Pooled& pooled) {
  std::optional<Plan> best;
  Picoseconds latency{0};  // the least so far
  std::exception_ptr why;
  const auto consider = [&](const std::function<Plan()>& make) {
    try {
      Plan plan = make();
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
      consider([&] { return plan_of(sharding); });
    }
  }
  if (!best) {
    consider([&] { return plan_of(resort()); });
  }
  if (!best || may_win(pooled, proposals.front(), latency)) {
    consider(pooled.plan);
  }
  if (!best) {
    std::rethrow_exception(why);
  }
  return std::move(*best);
}

}  // namespace elk::compile
