#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "elk/ir/graph.hpp"

namespace elk::emulate {

/// The name of the function that an op computes, without what stands behind a slash.
[[nodiscard]] inline std::string_view name_of(const ir::Op& op) {
  return std::string_view(op.function).substr(0, op.function.find('/'));
}

/// What an elementwise function is applied to: operands and constants in the order of the node's
/// inputs, and the numbers of its attributes.
template <class Wide>
struct Arguments {
  struct Values {
    const Wide* data;
    std::int64_t step;  // 0: one number for all points

    [[nodiscard]] Wide operator[](std::size_t point) const {
      return data[static_cast<std::int64_t>(point) * step];
    }
  };
  std::vector<Values> values;
  std::vector<double> extra;
  std::size_t count;  // of points
};

/// Writes the value of every point.
template <class Wide>
using Function = std::function<void(const Arguments<Wide>&, Wide*)>;

/// The function of that name for numbers of one type; null if there is none.
[[nodiscard]] const Function<double>* find_real(std::string_view name);
template <class Wide>
[[nodiscard]] const Function<Wide>* find_whole(std::string_view name);

/// Functions of one, two or three values, point by point; `f` may take the attributes last.
template <class Wide, class F>
Function<Wide> one(F f) {
  return [f](const Arguments<Wide>& a, Wide* out) {
    const auto x = a.values[0];
    for (std::size_t i = 0; i < a.count; ++i) {
      out[i] = f(x[i]);
    }
  };
}
template <class Wide, class F>
Function<Wide> one_with(F f) {
  return [f](const Arguments<Wide>& a, Wide* out) {
    const auto x = a.values[0];
    const double* extra = a.extra.data();
    for (std::size_t i = 0; i < a.count; ++i) {
      out[i] = f(x[i], extra);
    }
  };
}
template <class Wide, class F>
Function<Wide> two(F f) {
  return [f](const Arguments<Wide>& a, Wide* out) {
    const auto x = a.values[0];
    const auto y = a.values[1];
    for (std::size_t i = 0; i < a.count; ++i) {
      out[i] = f(x[i], y[i]);
    }
  };
}
template <class Wide, class F>
Function<Wide> three(F f) {
  return [f](const Arguments<Wide>& a, Wide* out) {
    const auto x = a.values[0];
    const auto y = a.values[1];
    const auto z = a.values[2];
    for (std::size_t i = 0; i < a.count; ++i) {
      out[i] = f(x[i], y[i], z[i]);
    }
  };
}
/// Any number of values, taken together one after another.
template <class Wide, class F>
Function<Wide> many(F f) {
  return [f](const Arguments<Wide>& a, Wide* out) {
    for (std::size_t i = 0; i < a.count; ++i) {
      Wide value = a.values[0][i];
      for (std::size_t k = 1; k < a.values.size(); ++k) {
        value = f(value, a.values[k][i]);
      }
      out[i] = value;
    }
  };
}

}  // namespace elk::emulate
