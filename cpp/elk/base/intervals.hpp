#pragma once

#include <algorithm>

namespace elk {

/// The values from `begin` up to, and not including, `end`.
template <class T>
struct Interval {
  T begin;
  T end;

  [[nodiscard]] constexpr bool empty() const { return !(begin < end); }
  [[nodiscard]] constexpr auto length() const { return end - begin; }
  [[nodiscard]] constexpr bool contains(const T& point) const {
    return !(point < begin) && point < end;
  }

  friend constexpr bool operator==(const Interval&, const Interval&) = default;
};

/// What `a` and `b` share; empty, and then possibly reversed, if they share nothing.
template <class T>
[[nodiscard]] constexpr Interval<T> intersection(const Interval<T>& a, const Interval<T>& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

/// Whether `a` and `b` share a value.
template <class T>
[[nodiscard]] constexpr bool overlaps(const Interval<T>& a, const Interval<T>& b) {
  return !intersection(a, b).empty();
}

}  // namespace elk
