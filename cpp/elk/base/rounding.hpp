#pragma once

#include <cstdint>

namespace elk {

/// A factor that keeps a sum of floats in another order a lower bound.
inline constexpr double kRoundedDown = 1.0 - 1e-12;

/// `amount / step`, rounded up. `amount` is not negative, `step` is positive.
[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t amount, std::int64_t step) {
  return (amount / step) + (amount % step != 0 ? 1 : 0);
}

/// The smallest multiple of `step` that is at least `amount`.
[[nodiscard]] constexpr std::int64_t round_up(std::int64_t amount, std::int64_t step) {
  return ceil_div(amount, step) * step;
}

}  // namespace elk
