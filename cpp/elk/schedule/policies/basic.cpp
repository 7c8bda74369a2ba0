#include <utility>

#include "elk/schedule/policies/baselines.hpp"
#include "elk/schedule/policies/registry.hpp"
#include "elk/schedule/policies/resident.hpp"
#include "elk/schedule/policies/searcher.hpp"

namespace elk::schedule {

template <>
void propose<Policy::Basic>(Searcher& search) {
  search.for_each_lateness([&] {
    if (search.problem().chip().hbm) {
      search.consider(Policy::Basic, basic(search.problem(), search.contention(), search.room()));
      return;
    }
    for (Proposal& one : residents(search.problem(), search.contention(), search.room())) {
      search.consider(Policy::Basic, std::move(one));
    }
  });
}

}  // namespace elk::schedule
