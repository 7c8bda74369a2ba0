#pragma once

#include <map>
#include <string_view>

#include "elk/emulate/kernels/functions.hpp"

namespace elk::emulate {

template <class Wide>
using Functions = std::map<std::string_view, Function<Wide>>;

/// NaN where either is, as ONNX has it.
template <class Wide>
Wide larger(Wide x, Wide y) {
  return x > y || x != x ? x : y;  // NOLINT(misc-redundant-expression): x != x asks for NaN.
}
template <class Wide>
Wide smaller(Wide x, Wide y) {
  return x < y || x != x ? x : y;  // NOLINT(misc-redundant-expression): x != x asks for NaN.
}

/// Comparisons, logic and selection: the same for numbers of any type.
template <class Wide>
Functions<Wide> deciding_functions() {
  const Wide zero{0};
  return {
      {"and", two<Wide>([=](Wide x, Wide y) { return Wide(x != zero && y != zero); })},
      {"or", two<Wide>([=](Wide x, Wide y) { return Wide(x != zero || y != zero); })},
      {"xor", two<Wide>([=](Wide x, Wide y) { return Wide((x != zero) != (y != zero)); })},
      {"not", one<Wide>([=](Wide x) { return Wide(x == zero); })},
      {"equal", two<Wide>([](Wide x, Wide y) { return Wide(x == y); })},
      {"greater", two<Wide>([](Wide x, Wide y) { return Wide(x > y); })},
      {"greater_equal", two<Wide>([](Wide x, Wide y) { return Wide(x >= y); })},
      {"less", two<Wide>([](Wide x, Wide y) { return Wide(x < y); })},
      {"less_equal", two<Wide>([](Wide x, Wide y) { return Wide(x <= y); })},
      {"max", many<Wide>(larger<Wide>)},
      {"min", many<Wide>(smaller<Wide>)},
      {"clip",
       three<Wide>([](Wide x, Wide low, Wide high) { return smaller(larger(x, low), high); })},
      {"where", three<Wide>([=](Wide c, Wide x, Wide y) { return c != zero ? x : y; })},
      {"relu", one<Wide>([=](Wide x) { return larger(x, zero); })},
      {"cast", one<Wide>([](Wide x) { return x; })},
  };
}

}  // namespace elk::emulate
