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

/// How far the estimate of a pooled plan may be above that of the fastest sharding: both err alike.
constexpr double kPooledOverestimate = 1.1;

bool is_below(Picoseconds time, double factor, Picoseconds other) {
  return static_cast<double>(time.value) < factor * static_cast<double>(other.value);
}

bool may_win(const train::Sharding& sharding, Picoseconds best) {
  return sharding.least < best &&
         static_cast<double>(sharding.time.value) < kOverestimate * static_cast<double>(best.value);
}

bool may_win(const Pooled& pooled, const train::Sharding& fastest, Picoseconds best) {
  if (!is_below(pooled.about, kPooledOverestimate, fastest.time)) {
    return false;
  }
  try {
    return !pooled.glance || is_below(pooled.glance(), pooled.overestimate, best);
  } catch (const Infeasible&) {
    return false;
  }
}

bool is_worth_more(const Plan& best, const Plan& plan) { return worth(plan) < worth(best); }

/// The best of the plans considered, and the least latency among them.
class Contest {
 public:
  template <class Beats>
  void consider(const std::function<Plan()>& make, const Beats& beats) {
    try {
      Plan plan = make();
      const Picoseconds own = shortest_latency(plan);
      latency_ = best_ ? std::min(latency_, own) : own;
      if (!best_ || beats(*best_, plan)) {
        best_ = std::move(plan);
      }
    } catch (const Infeasible&) {
      why_ = why_ ? why_ : std::current_exception();
    }
  }

  /// Whether `other` is to be considered: nothing fits so far, or it may be shorter.
  template <class... Other>
  [[nodiscard]] bool lets(const Other&... other) const {
    return !best_ || may_win(other..., latency_);
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
  std::optional<Plan> best_;
  Picoseconds latency_{0};
  std::exception_ptr why_;
};

}  // namespace

Plan shortest(const std::vector<train::Sharding>& proposals,
              const std::function<train::Sharding()>& resort, const PlanOf& plan_of,
              const Pooled& pooled) {
  Contest contest;
  for (const train::Sharding& sharding : proposals) {
    if (contest.lets(sharding)) {
      contest.consider([&] { return plan_of(sharding); }, is_worth_more);
    }
  }
  if (contest.has_none()) {
    contest.consider([&] { return plan_of(resort()); }, is_worth_more);
  }
  if (contest.lets(pooled, proposals.front())) {
    contest.consider(pooled.plan, pooled.beats);
  }
  return std::move(contest).best();
}

}  // namespace elk::compile
