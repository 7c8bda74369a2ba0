#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "elk/ir/graph.hpp"

namespace elk::emulate {

/// Numbers as kernels compute with them: wide, one type for each class of element types. Stored
/// numbers are rounded to nearest even, or cut to their low bits, when they are saved.
using Numbers =
    std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::uint64_t>>;

/// Whether elements of `dtype` are floating-point numbers.
[[nodiscard]] bool is_real(ir::DType dtype);
/// Whether ELK knows what the bits of `dtype` mean: not which of its kinds an f8 is.
[[nodiscard]] bool is_known(ir::DType dtype);

/// Whether the bytes of elements of `dtype` are numbers of type Wide.
template <class Wide>
[[nodiscard]] constexpr bool is_stored_as(ir::DType dtype) {
  if constexpr (std::is_same_v<Wide, double>) {
    return dtype == ir::DType::F64;
  } else if constexpr (std::is_same_v<Wide, float>) {
    return dtype == ir::DType::F32;
  } else if constexpr (std::is_same_v<Wide, std::int64_t>) {
    return dtype == ir::DType::I64;
  } else {
    return dtype == ir::DType::U64;
  }
}

/// Elements of one type in bytes, the first in the lowest bits of the first byte.
struct Elements {
  const std::byte* data;
  ir::DType dtype;
};
struct MutableElements {
  std::byte* data;
  ir::DType dtype;
};

/// A run of elements: `count` of them from number `first` on, `step` apart.
struct ElementSequence {
  std::int64_t first;
  std::int64_t step;
  std::int64_t count;
};

/// The elements of `run` as numbers of type Wide: double, float, int64 or uint64.
template <class Wide>
void load(const Elements& from, const ElementSequence& run, Wide* out);

/// Writes numbers as elements.
template <class Wide>
void save(const Wide* in, const ElementSequence& run, const MutableElements& to);

/// Writes `count` numbers from number `first` on as elements 0, 1, ...
void save_part(const Numbers& numbers, std::int64_t first, std::int64_t count,
               const MutableElements& to);

/// `count` numbers of the type in which elements of `dtype` are computed with, filled by `fill`.
template <class Fill>
[[nodiscard]] Numbers with_numbers(ir::DType dtype, std::size_t count, const Fill& fill) {
  const auto filled = [&](auto values) {
    fill(values);
    return Numbers(std::move(values));
  };
  if (is_real(dtype)) {
    return filled(std::vector<double>(count));
  }
  if (dtype == ir::DType::U64) {
    return filled(std::vector<std::uint64_t>(count));
  }
  return filled(std::vector<std::int64_t>(count));
}

}  // namespace elk::emulate
