#pragma once

#include <compare>
#include <cstdint>

namespace elk {

/// A number that knows its unit. Mixing units does not compile.
template <class Unit, class Rep>
struct Quantity {
  Rep value{};

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return {a.value + b.value}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return {a.value - b.value}; }
  friend constexpr Quantity operator*(Quantity a, Rep factor) { return {a.value * factor}; }
  friend constexpr Quantity operator*(Rep factor, Quantity a) { return {factor * a.value}; }
  constexpr Quantity& operator+=(Quantity other) {
    value += other.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value -= other.value;
    return *this;
  }
};

using Bytes = Quantity<struct BytesUnit, std::int64_t>;
using Seconds = Quantity<struct SecondsUnit, double>;                // estimated time
using Picoseconds = Quantity<struct PicosecondsUnit, std::int64_t>;  // simulated time

/// An estimate as simulated time, rounded up. An estimate that is negative, not a number or beyond
/// the range of Picoseconds (106 days) throws InternalError.
[[nodiscard]] Picoseconds to_picoseconds(Seconds estimate);

/// Simulated time in seconds, to the nearest double.
[[nodiscard]] constexpr Seconds to_seconds(Picoseconds time) {
  return {static_cast<double>(time.value) / 1e12};
}

}  // namespace elk
