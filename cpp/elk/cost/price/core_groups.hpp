#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "elk/base/intervals.hpp"
#include "elk/base/rounding.hpp"
#include "elk/cost/price/pricer.hpp"

namespace elk::cost {

/// Groups of cores that differ in their places along some axes alone, which follow each other in
/// the core order: of each, `cores` members, every `inner` ids.
struct CoreGroups {
  std::int64_t cores;
  std::int64_t inner;
};

/// Empty where other axes lie between those selected by `along`.
[[nodiscard]] std::optional<CoreGroups> groups(const Cut& cut, std::uint64_t along);

/// The members of a group that lie on one chip: their numbers follow each other.
using Members = Interval<std::int64_t>;

/// Calls `visit(members, times)` for the groups that have some of `ids`. These are numbered within
/// as many ids as hold all members of `groups.inner` neighbouring groups.
template <class Visit>
void for_each_group(const CoreGroups& groups, const Interval<std::int64_t>& ids,
                    const Visit& visit) {
  const auto before = [&](std::int64_t id, std::int64_t group) {
    return std::clamp<std::int64_t>(ceil_div(id - group, groups.inner), 0, groups.cores);
  };
  std::array<std::int64_t, 4> ends{0, ids.begin % groups.inner, ids.end % groups.inner,
                                   groups.inner};
  std::sort(ends.begin(), ends.end());
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    if (ends[i] < ends[i + 1]) {
      visit(Members{before(ids.begin, ends[i]), before(ids.end, ends[i])}, ends[i + 1] - ends[i]);
    }
  }
}

/// Into the busiest of `chips`, where `into(members)` bytes come to the members of a group on one
/// chip from those on others. Only groups at the ends of a chip have such.
template <class Into>
std::int64_t most_in(const Cut& cut, const CoreGroups& groups, std::int64_t chips,
                     const Into& into) {
  const std::int64_t period = groups.inner * groups.cores;
  std::int64_t most = 0;
  for (std::int64_t chip = 0; chip < chips && chip * cut.ids < cut.cores; ++chip) {
    const std::int64_t begin = chip * cut.ids;
    const std::int64_t end = std::min(begin + cut.ids, cut.cores);
    std::int64_t sum = 0;
    for (std::int64_t first = begin / period * period; first < end;
         first = std::max(first + period, (end - 1) / period * period)) {
      const Interval<std::int64_t> ids{std::max(begin - first, std::int64_t{0}),
                                       std::min(end - first, period)};
      for_each_group(groups, ids, [&](const Members& here, std::int64_t times) {
        sum += !here.empty() && here.length() < groups.cores ? times * into(here) : 0;
      });
    }
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace elk::cost
