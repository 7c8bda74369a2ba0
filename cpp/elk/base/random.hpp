#pragma once

#include <cstdint>

namespace elk {

/// Random numbers that are the same on every machine for one seed.
/// SplitMix64: Steele, Lea and Flood, OOPSLA 2014.
struct Random {
  std::uint64_t state;

  constexpr std::uint64_t next() {
    state += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  /// A number in [0, bound), for a bound of at least 1. The bias is below `bound / 2^64`.
  constexpr std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(bound));
  }

  /// A number in [0, 1).
  constexpr double uniform() { return static_cast<double>(next() >> 11U) * 0x1p-53; }
};

}  // namespace elk
