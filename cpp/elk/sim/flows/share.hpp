#pragma once

#include <cstdint>

#include "elk/base/units.hpp"

namespace elk::sim {

/// Whole bytes per second.
using Rate = Quantity<struct RateUnit, std::int64_t>;

/// A rate of the chip file as a whole number of bytes per second, rounded down.
[[nodiscard]] Rate to_rate(double bytes_per_s);

/// A constant of the chip file in whole picoseconds, to the nearest: it is no estimate, and 2 ns
/// are 2,000 ps though no double is 2e-9.
[[nodiscard]] Picoseconds to_latency(Seconds constant);

/// Wide enough for `kMostFlowBytes` in grains times `kMostSharers`.
__extension__ using Wide = __int128;

/// Grains in what one byte per second moves in a picosecond, 1e-12 bytes: the least number that 1
/// to 24 divide, so that a link splits evenly among up to 24 flows, and most larger counts.
inline constexpr std::int64_t kGrains = 5'354'228'880;
inline constexpr std::int64_t kMostFlowBytes = std::int64_t{1} << 40;
inline constexpr Picoseconds kBeyondTime{std::int64_t{1} << 61};
inline constexpr std::int64_t kMostSharers = std::int64_t{1} << 14;

/// Grains in `bytes`: of what has to move.
[[nodiscard]] constexpr Wide grains(Bytes bytes) {
  return Wide{bytes.value} * 1'000'000'000'000 * kGrains;
}

/// Grains that `rate` moves in a picosecond.
[[nodiscard]] constexpr Wide grains(Rate rate) { return Wide{rate.value} * kGrains; }

/// A speed: `num / den` grains in a picosecond. `den` is 1 wherever it divides `num`.
struct FairShare {
  Wide num;
  std::int64_t den;  // 1 to kMostSharers

  friend bool operator==(const FairShare&, const FairShare&) = default;
};

/// `left / weight`, the share of each unit of weight. Exact while the denominator is at most
/// `kMostSharers` once it is reduced; else rounded down to a whole grain.
[[nodiscard]] FairShare split(Wide left, std::int64_t weight);

/// What moves in `time`, rounded up: a flow that changes its speed gains less than a grain.
[[nodiscard]] inline Wide moved(FairShare share, Picoseconds time) {
  const Wide amount = share.num * time.value;
  return share.den == 1 ? amount : (amount + share.den - 1) / share.den;
}

/// Until `left` has moved, rounded up; `kBeyondTime` if that lies beyond 26 days.
[[nodiscard]] inline Picoseconds time_to_move(Wide left, FairShare share) {
  if (left <= 0) {
    return {0};
  }
  if (share.num == 0) {
    return kBeyondTime;
  }
  const Wide amount = left * share.den;
  const Wide whole = amount / share.num;
  if (whole >= kBeyondTime.value) {
    return kBeyondTime;
  }
  return {static_cast<std::int64_t>(whole) + (whole * share.num < amount ? 1 : 0)};
}

}  // namespace elk::sim
