#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "elk/base/intervals.hpp"
#include "elk/program/place/strip.hpp"

namespace elk::program {

/// Pieces that begin in a stretch of moments are the same every `length` moments.
struct Period {
  Interval<std::int32_t> stretch;
  std::int32_t length;
  std::vector<Interval<std::int32_t>>
      later;  // stretches that begin alike, beyond all pieces of those before
};

/// Moments of all stretches of a period.
[[nodiscard]] std::int32_t covered(const Period& period);

/// The longest stretch of a strip that repeats at least three times; ties go to the shorter period,
/// then to the earlier stretch. Pieces of one moment stand in a fixed order.
[[nodiscard]] std::optional<Period> find_period(const Strip& strip);

/// Periods that a ring needs so that none of its pieces is longer than the ring.
[[nodiscard]] std::int32_t fewest_periods(const Strip& strip, const Period& period);

/// As `pack`, by way of the repeated stretch: packs `periods` of it bent into a ring, lays the ring
/// out over its stretches again and again, and then fits in what comes between them. Empty if
/// the stretch is shorter than the ring. A buffer can return to its address only once round the
/// ring, so that a ring of more periods may fit where one of fewer does not.
[[nodiscard]] std::optional<std::vector<std::int64_t>> pack_by_period(const Strip& strip,
                                                                      const Period& period,
                                                                      std::int32_t periods,
                                                                      std::int64_t& work);

}  // namespace elk::program
