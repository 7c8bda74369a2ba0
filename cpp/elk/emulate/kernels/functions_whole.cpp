#include <algorithm>
#include <cmath>
#include <type_traits>

#include "elk/emulate/kernels/functions_shared.hpp"

namespace elk::emulate {
namespace {

constexpr std::uint64_t kWidth = 64;

/// Two's complement arithmetic wraps around, which only unsigned numbers may do in C++.
template <class Wide, class F>
Wide wrapped(Wide x, Wide y, F f) {
  return static_cast<Wide>(f(static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(y)));
}

/// The quotient cut to its whole part; nothing sensible divides by zero, so that gives zero.
template <class Wide>
Wide quotient(Wide x, Wide y) {
  if (y == Wide{0}) {
    return 0;
  }
  if constexpr (std::is_signed_v<Wide>) {
    if (y == Wide{-1}) {
      return wrapped(Wide{0}, x, [](auto a, auto b) { return a - b; });
    }
  }
  return x / y;
}

/// The remainder with the sign of `x`.
template <class Wide>
Wide remainder(Wide x, Wide y) {
  if constexpr (std::is_signed_v<Wide>) {
    if (y == Wide{-1}) {
      return 0;
    }
  }
  return y == Wide{0} ? Wide{0} : x % y;
}

/// The remainder with the sign of `y`.
template <class Wide>
Wide modulo(Wide x, Wide y) {
  const Wide rest = remainder(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

template <class Wide>
Wide power(Wide base, Wide exponent) {
  if (exponent < Wide{0}) {
    return static_cast<Wide>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  Wide result = 1;
  for (auto rest = static_cast<std::uint64_t>(exponent); rest > 0; rest >>= 1U) {
    if ((rest & 1U) != 0) {
      result = wrapped(result, base, [](auto a, auto b) { return a * b; });
    }
    base = wrapped(base, base, [](auto a, auto b) { return a * b; });
  }
  return result;
}

/// By `extra[0]` to the left if that is positive, else to the right, where the sign stays.
template <class Wide>
void shift(const Arguments<Wide>& a, Wide* out) {
  const bool left = a.extra[0] > 0;
  for (std::size_t i = 0; i < a.count; ++i) {
    const Wide x = a.values[0][i];
    const auto by = static_cast<std::uint64_t>(a.values[1][i]);
    if (left) {
      out[i] = by < kWidth ? static_cast<Wide>(static_cast<std::uint64_t>(x) << by) : Wide{0};
    } else {
      out[i] = static_cast<Wide>(x >> std::min(by, kWidth - 1));
    }
  }
}

template <class Wide>
void mean(const Arguments<Wide>& a, Wide* out) {
  for (std::size_t i = 0; i < a.count; ++i) {
    Wide sum = 0;
    for (const typename Arguments<Wide>::Values& values : a.values) {
      sum = wrapped(sum, values[i], [](auto x, auto y) { return x + y; });
    }
    out[i] = quotient(sum, static_cast<Wide>(a.values.size()));
  }
}

template <class Wide>
Wide negated(Wide x) {
  return wrapped(Wide{0}, x, [](auto a, auto b) { return a - b; });
}

template <class Wide>
Wide sign(Wide x) {
  return static_cast<Wide>(x > Wide{0}) - static_cast<Wide>(x < Wide{0});
}

template <class Wide>
Wide shrunk(Wide x, const double* a) {
  const auto value = static_cast<double>(x);
  if (value < -a[1]) {
    return static_cast<Wide>(value + a[0]);
  }
  return static_cast<Wide>(value > a[1] ? value - a[0] : 0);
}

template <class Wide>
Functions<Wide> whole_functions() {
  return {
      {"abs", one<Wide>([](Wide x) { return x < Wide{0} ? negated(x) : x; })},
      {"add", many<Wide>([](Wide x, Wide y) {
         return wrapped(x, y, [](auto a, auto b) { return a + b; });
       })},
      {"bitwise_and", two<Wide>([](Wide x, Wide y) { return x & y; })},
      {"bitwise_not", one<Wide>([](Wide x) { return ~x; })},
      {"bitwise_or", two<Wide>([](Wide x, Wide y) { return x | y; })},
      {"bitwise_xor", two<Wide>([](Wide x, Wide y) { return x ^ y; })},
      {"div", two<Wide>(quotient<Wide>)},
      {"fmod", two<Wide>(remainder<Wide>)},
      {"mean", mean<Wide>},
      {"mod", two<Wide>(modulo<Wide>)},
      {"mul", two<Wide>([](Wide x, Wide y) {
         return wrapped(x, y, [](auto a, auto b) { return a * b; });
       })},
      {"neg", one<Wide>(negated<Wide>)},
      {"pow", two<Wide>(power<Wide>)},
      {"prelu", two<Wide>([](Wide x, Wide slope) {
         return x < Wide{0} ? wrapped(x, slope, [](auto a, auto b) { return a * b; }) : x;
       })},
      {"shift", shift<Wide>},
      {"shrink", one_with<Wide>(shrunk<Wide>)},
      {"sign", one<Wide>(sign<Wide>)},
      {"square",
       one<Wide>([](Wide x) { return wrapped(x, x, [](auto a, auto b) { return a * b; }); })},
      {"sub", two<Wide>([](Wide x, Wide y) {
         return wrapped(x, y, [](auto a, auto b) { return a - b; });
       })},
  };
}

template <class Wide>
Functions<Wide> all() {
  Functions<Wide> table = deciding_functions<Wide>();
  Functions<Wide> more = whole_functions<Wide>();
  table.merge(more);
  return table;
}

}  // namespace

template <class Wide>
const Function<Wide>* find_whole(std::string_view name) {
  static const Functions<Wide> table = all<Wide>();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

template const Function<std::int64_t>* find_whole<std::int64_t>(std::string_view name);
template const Function<std::uint64_t>* find_whole<std::uint64_t>(std::string_view name);

}  // namespace elk::emulate
