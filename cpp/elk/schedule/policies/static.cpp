#include <utility>

#include "elk/schedule/policies/baselines.hpp"
#include "elk/schedule/policies/registry.hpp"
#include "elk/schedule/policies/searcher.hpp"
#include "elk/schedule/problem/schedule_tuning.hpp"

namespace elk::schedule {

template <>
void propose<Policy::Static>(Searcher& search) {
  search.for_each_lateness([&] {
    for (Proposal& one : fixed_splits(search.problem(), search.contention(), search.room(),
                                      tuning::kSplitsKept, search.threads())) {
      search.consider(Policy::Static, std::move(one));
    }
  });
}

}  // namespace elk::schedule
