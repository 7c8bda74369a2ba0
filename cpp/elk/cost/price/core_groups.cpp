#include "elk/cost/price/core_groups.hpp"

namespace elk::cost {

std::optional<CoreGroups> groups(const Cut& cut, std::uint64_t along) {
  CoreGroups result{.cores = 1, .inner = 1};
  bool left = false;  // the selected axes
  for (std::size_t i = cut.order.size(); i-- > 0;) {
    const std::int64_t factor = cut.factor[static_cast<std::size_t>(cut.order[i])];
    if (((along >> static_cast<unsigned>(cut.order[i])) & 1U) == 0) {
      result.inner *= result.cores == 1 ? factor : 1;
      left = left || result.cores > 1;
    } else if (left) {
      return std::nullopt;
    } else {
      result.cores *= factor;
    }
  }
  return result;
}

}  // namespace elk::cost
