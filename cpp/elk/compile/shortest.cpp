#include "elk/compile/shortest.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "elk/base/errors.hpp"

namespace elk::compile {
namespace {

/// How far a plan may be below the estimate of its sharding.
constexpr double kOverestimate = 1.5;

/// How far the estimate of a pooled plan may be above that of the fastest sharding: both err alike.
constexpr double kPooledOverestimate = 1.1;

/// How far the pooled plan of ELK-Dyn may be above a plan that ELK-Full's pooled plan may beat.
constexpr double kImproved = 1.1;

bool is_below(Picoseconds time, double factor, Picoseconds other) {
  return static_cast<double>(time.value) < factor * static_cast<double>(other.value);
}

bool may_win(const shard::Sharding& sharding, Picoseconds best) {
  return sharding.least < best && is_below(sharding.time, kOverestimate, best);
}

/// One way to run the model on the pod.
struct Entrant {
  std::function<Plan(schedule::Policy)> plan;
  std::optional<schedule::Policy> planned = std::nullopt;  // the highest policy that tried it
  std::vector<std::optional<Picoseconds>> least = {};  // NOLINT(readability-redundant-member-init)
};

/// The shortest forecast of what each policy up to `asked` placed.
std::vector<std::optional<Picoseconds>> least_latencies(const Plan& plan, schedule::Policy asked) {
  std::vector<std::optional<Picoseconds>> result(schedule::step(asked) + 1, plan.predicted.total);
  for (std::size_t i = 0; i < plan.least.size(); ++i) {
    result[i] = std::isinf(plan.least[i].value) ? std::nullopt
                                                : std::optional(to_picoseconds(plan.least[i]));
  }
  return result;
}

/// What the policies have tried, and the best of it.
class Contest {
 public:
  explicit Contest(const Entrants& entrants)
      : entrants_(entrants),
        resort_{.plan =
                    [this](schedule::Policy policy) {
                      return entrants_.plan_of(entrants_.resort(), policy);
                    }},
        pooled_{.plan = entrants.pooled.plan} {
    for (const shard::Sharding& sharding : entrants.proposals) {
      shared_.push_back({.plan = [this, &sharding](schedule::Policy policy) {
        return entrants_.plan_of(sharding, policy);
      }});
    }
  }

  /// Plans all that `policy` tries by itself, unless one above it has planned it.
  void play(schedule::Policy policy) {
    std::optional<Picoseconds> least;  // found by the policy
    const auto consider = [&](Entrant& entrant) {
      const std::optional<Picoseconds> found = found_by(policy, entrant);
      if (found) {
        least = std::min(least.value_or(*found), *found);
      }
    };
    for (std::size_t i = 0; i < shared_.size(); ++i) {
      if (!least || may_win(entrants_.proposals[i], *least)) {
        consider(shared_[i]);
      }
    }
    if (!least) {
      consider(resort_);
    }
    if (!least || may_pool(policy, *least)) {
      consider(pooled_);
    }
  }

  [[nodiscard]] bool has_none() const { return !best_; }

  /// Throws why the first did not fit if none did.
  [[nodiscard]] Plan best() && {
    if (!best_) {
      std::rethrow_exception(why_);
    }
    return std::move(*best_);
  }

 private:
  /// The shortest forecast of what `policy` places of `entrant`; none if nothing fits.
  std::optional<Picoseconds> found_by(schedule::Policy policy, Entrant& entrant) {
    if (!entrant.planned || *entrant.planned < policy) {
      run(policy, entrant);
    }
    return entrant.least.empty() ? std::nullopt : entrant.least[schedule::step(policy)];
  }

  void run(schedule::Policy policy, Entrant& entrant) {
    entrant.planned = policy;
    try {
      Plan plan = entrant.plan(policy);
      entrant.least = least_latencies(plan, policy);
      if (!best_ || entrants_.beats(*best_, plan)) {
        best_ = std::move(plan);
      }
    } catch (const Infeasible&) {
      why_ = why_ ? why_ : std::current_exception();
    }
  }

  /// Whether `policy`, which has found `best`, tries all cores as one machine: ELK-Full looks first
  /// at what ELK-Dyn finds.
  bool may_pool(schedule::Policy policy, Picoseconds best) {
    if (!is_below(entrants_.pooled.about, kPooledOverestimate, entrants_.proposals.front().time)) {
      return false;
    }
    if (policy != schedule::Policy::ElkFull) {
      return true;
    }
    const std::optional<Picoseconds> found = found_by(schedule::Policy::ElkDyn, pooled_);
    return found && is_below(*found, kImproved, best);
  }

  const Entrants& entrants_;
  std::vector<Entrant> shared_;
  Entrant resort_;
  Entrant pooled_;
  std::optional<Plan> best_;
  std::exception_ptr why_;
};

}  // namespace

Plan shortest(const Entrants& entrants, const std::vector<schedule::Policy>& policies,
              const Watch* watch) {
  Contest contest(entrants);
  for (const schedule::Policy policy : policies) {
    if (contest.has_none() || !Watch::stops(watch)) {
      contest.play(policy);
    }
  }
  return std::move(contest).best();
}

}  // namespace elk::compile
