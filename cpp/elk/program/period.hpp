#pragma once

#include <cstdint>
#include <optional>

#include "elk/program/strip.hpp"

namespace elk::program {

/// Pieces that begin in the moments [begin, end) are the same every `length` moments.
struct Period {
  std::int32_t begin;
  std::int32_t end;
  std::int32_t length;
};

/// The longest stretch of a strip that repeats at least three times; ties go to the shorter period,
/// then to the earlier stretch. Pieces of one moment stand in a fixed order.
[[nodiscard]] std::optional<Period> find_period(const Strip& strip);

/// As `pack`, by way of the repeated stretch: packs a few periods bent into a ring, lays them out
/// over the stretch, and then fits in what comes before and after.
[[nodiscard]] std::optional<std::vector<std::int64_t>> pack_by_period(const Strip& strip,
                                                                      const Period& period,
                                                                      std::int64_t& work);

}  // namespace elk::program
