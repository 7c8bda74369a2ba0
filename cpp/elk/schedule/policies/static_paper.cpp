#include <vector>

#include "elk/schedule/improve/reconcile.hpp"
#include "elk/schedule/policies/baselines.hpp"
#include "elk/schedule/policies/registry.hpp"
#include "elk/schedule/policies/searcher.hpp"
#include "elk/schedule/problem/schedule_tuning.hpp"

namespace elk::schedule {

/// The plans that are fastest with links to themselves, as they are: no neighbour is looked at.
template <>
void propose<Policy::StaticPaper>(Searcher& search) {
  const Contention alone{.share = 0.0, .drag = search.contention().drag, .late = 0.0};
  const Problem& problem = search.problem();
  const std::vector<Proposal> proposals =
      problem.chip().hbm
          ? fixed_splits(problem, alone, search.room(), tuning::kSplitsKept, search.threads())
          : reconciled(problem, alone,
                       {.room = search.room(), .active = search.room(), .what = Explore::First});
  for (const Proposal& one : proposals) {
    search.keep(Policy::StaticPaper, one);
  }
}

}  // namespace elk::schedule
