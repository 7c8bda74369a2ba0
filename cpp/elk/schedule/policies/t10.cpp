#include <utility>

#include "elk/schedule/improve/reconcile.hpp"
#include "elk/schedule/policies/registry.hpp"
#include "elk/schedule/policies/searcher.hpp"

namespace elk::schedule {

template <>
void propose<Policy::T10>(Searcher& search) {
  const ReconcileLimits limits{.room = search.room(), .active = search.room()};
  search.explored() = reconcile(search.problem(), search.contention(), limits).explored;
  for (Proposal& one : reconciled(search.problem(), search.contention(), limits)) {
    search.consider(Policy::T10, std::move(one));
  }
}

}  // namespace elk::schedule
