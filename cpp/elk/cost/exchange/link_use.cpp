#include "elk/cost/exchange/link_use.hpp"

#include <algorithm>
#include <cmath>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"

namespace elk::cost {

LinkUse link_use(std::span<const std::int64_t> loads, const chip::Chip& chip, std::int64_t chips) {
  const chip::Network network = chip::network_of(chip);
  const std::size_t directions = subscript(network.links());
  const std::size_t parts = kRegions / directions;  // of a line
  const auto order = network.order(chip::DimOrder::RowFirst);
  std::array<std::int64_t, kRegions> most{};
  std::size_t at = 0;
  for (std::size_t direction = 0; direction < directions; ++direction) {
    const std::int64_t places = network.length(order[direction / 2]);
    for (std::int64_t i = 0; i < chips * chip.core.count; ++i) {
      const std::int64_t part = (i % places) * static_cast<std::int64_t>(parts) / places;
      std::int64_t& here = most[(direction * parts) + subscript(part)];
      here = std::max(here, loads[at++]);
    }
  }
  const std::int64_t all = *std::max_element(most.begin(), most.end());
  LinkUse result = kEverywhere;
  for (std::size_t i = 0; all > 0 && i < kRegions; ++i) {
    result.region[i] = static_cast<std::uint8_t>(ceil_div(most[i] * kBusiest, all));
  }
  return result;
}

LinkUse mean_use(const PhaseUse& first, const PhaseUse& second) {
  if (second.wire <= 0.0 || first.use == second.use) {
    return first.use;
  }
  if (first.wire <= 0.0) {
    return second.use;
  }
  LinkUse result{};
  const double share = first.wire / (first.wire + second.wire);
  for (std::size_t i = 0; i < kRegions; ++i) {
    const double mean = (share * first.use.region[i]) + ((1.0 - share) * second.use.region[i]);
    result.region[i] = static_cast<std::uint8_t>(std::lround(mean));
  }
  return result;
}

}  // namespace elk::cost
