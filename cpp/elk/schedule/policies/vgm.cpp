#include "elk/schedule/policies/registry.hpp"

namespace elk::schedule {

/// Nothing: `compile::vgm` makes the forecast, which is no schedule of a searched problem.
template <>
void propose<Policy::Vgm>(Searcher& /*search*/) {}

}  // namespace elk::schedule
