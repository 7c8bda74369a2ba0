#include <utility>

#include "elk/schedule/improve/reconcile.hpp"
#include "elk/schedule/policies/baselines.hpp"
#include "elk/schedule/policies/registry.hpp"
#include "elk/schedule/policies/searcher.hpp"

namespace elk::schedule {

template <>
void propose<Policy::Basic>(Searcher& search) {
  if (!search.problem().chip().hbm) {
    const ReconcileLimits first{
        .room = search.room(), .active = search.room(), .what = Explore::First};
    for (Proposal& one : reconciled(search.problem(), search.contention(), first)) {
      search.consider(Policy::Basic, std::move(one));
    }
    return;
  }
  search.for_each_lateness([&] {
    search.consider(Policy::Basic, basic(search.problem(), search.contention(), search.room()));
  });
}

}  // namespace elk::schedule
