#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "elk/tile/form/form.hpp"

/// What the formulas of a tile model share: their features, one group of functions a formula, and
/// arithmetic in steps.
namespace elk::tile::form {

/// Two numbers that the processor works on together.
using Pair [[gnu::vector_size(16)]] = double;

/// The integers nearest to numbers below 2^51 either way: beyond 2^52 doubles are integers, and a
/// sum is rounded to one.
[[nodiscard]] inline Pair nearest(Pair values) {
  constexpr double kIntegers = 6755399441055744.0;  // 1.5 x 2^52
  return (values + kIntegers) - kIntegers;
}

/// Of a positive number. (std::has_single_bit is a call on processors without a bit count.)
[[nodiscard]] inline bool is_power_of_two(std::uint32_t number) {
  return (number & (number - 1)) == 0;
}

/// ceil(amount / step): a shift where that will do, else a 32-bit division, which is several times
/// as fast as one of 64 bits.
[[nodiscard]] inline std::int64_t steps(std::int64_t amount, std::int32_t step) {
  const auto size = static_cast<std::uint32_t>(step);
  if (is_power_of_two(size)) {
    return (amount + step - 1) >> std::countr_zero(size);
  }
  if (amount <= std::numeric_limits<std::int32_t>::max()) {
    return (static_cast<std::uint32_t>(amount) + size - 1U) / size;
  }
  return (amount + step - 1) / step;
}

/// amount % step.
[[nodiscard]] inline std::int64_t rest(std::int64_t amount, std::int32_t step) {
  if (is_power_of_two(static_cast<std::uint32_t>(step))) {
    return amount & (step - 1);
  }
  if (amount <= std::numeric_limits<std::int32_t>::max()) {
    return static_cast<std::uint32_t>(amount) % static_cast<std::uint32_t>(step);
  }
  return amount % step;
}

[[nodiscard]] inline double real(std::int64_t value) { return static_cast<double>(value); }
[[nodiscard]] inline double real(bool value) { return value ? 1.0 : 0.0; }

/// log2 of the largest power of two, up to `limit`, that divides `size`.
[[nodiscard]] inline std::int32_t alignment(std::int64_t size, std::int32_t limit) {
  std::int32_t power = 0;
  while ((1 << power) < limit && ((size >> power) & 1) == 0) {
    ++power;
  }
  return power;
}

constexpr std::int32_t kRowPieces = 4;  // of ceil(rows / workers): 1, 2, 3, more

/// The piece of a product by the rows of a worker.
[[nodiscard]] inline std::int64_t row_piece(const Product& product) {
  return std::min<std::int64_t>(product.share, kRowPieces) - 1;
}

/// What casting `elements` results takes, dealt to `workers`: the steps of one worker, and their
/// place in a vector of four.
struct Casting {
  double share;
  double one;
  double two;
  double three;

  Casting(std::int64_t elements, std::int32_t workers) {
    const std::int64_t steps_of_one = steps(elements, workers);
    const std::int64_t place = steps_of_one % 4;
    share = real(steps_of_one);
    one = real(place == 1);
    two = real(place == 2);
    three = real(place == 3);
  }
};

/// Of the results of a window.
[[nodiscard]] inline Casting window_casting(const TileCall& call, std::int32_t workers) {
  const TileShape& shape = call.shape;
  return {shape[ir::TileDim::Group] * call.window.field * shape[ir::TileDim::OutCh], workers};
}

/// Whether a convolution reads each input position once: a product.
[[nodiscard]] inline bool is_flat(const TileShape& shape) {
  return shape[ir::TileDim::KernelH] * shape[ir::TileDim::KernelW] == 1 &&
         shape.params[0] * shape.params[1] <= 1;
}

/// The features of a piece, in the order of its coefficients.
template <class... Values>
[[nodiscard]] Terms listed(std::int64_t leaf, Values... values) {
  // What lies behind the last value is never read: clearing it would double the cost of a formula.
  Terms out;
  out.leaf = static_cast<std::int32_t>(leaf);
  out.count = static_cast<std::int32_t>(sizeof...(values));
  auto* at = out.value.data();
  ((*at++ = values), ...);
  return out;
}

/// Where a formula cannot compute a tile at all.
inline constexpr Terms kNoTerms = {.leaf = -1, .count = 0, .value = {}};

/// The sum of products, in four parts that the processor adds at the same time.
[[nodiscard]] inline double dot(const Terms& terms, const double* coefficients) {
  constexpr std::size_t kParts = 4;
  std::array<double, kParts> parts{};
  const auto count = static_cast<std::size_t>(terms.count);
  std::size_t i = 0;
  for (; i + kParts <= count; i += kParts) {
    for (std::size_t part = 0; part < kParts; ++part) {
      parts[part] += terms.value[i + part] * coefficients[i + part];
    }
  }
  for (; i < count; ++i) {
    parts[0] += terms.value[i] * coefficients[i];
  }
  return (parts[0] + parts[1]) + (parts[2] + parts[3]);
}

/// The features of a tile under a formula; a negative leaf where it does not apply.
template <class Kind>
[[nodiscard]] Terms features(const Kind& kind, const TileCall& call);

/// The features times the coefficients of the piece, of which each has `width`; infinite where the
/// formula does not apply, the piece has no coefficients, or they would take no time.
template <class Kind>
[[nodiscard]] double cycles(const Kind& kind, const TileCall& call, const double* coefficients,
                            std::int32_t width);

/// Whether no size of the call, as `sizes` says, exceeds `limit`.
template <class Kind>
[[nodiscard]] bool within(const Kind& kind, const TileCall& call, const Extents& limit);

// For each formula: how many pieces it has, features that grow with every axis, and the sizes that
// the fitted range bounds.
[[nodiscard]] std::int32_t leaves(const Grid& grid);
[[nodiscard]] Terms smooth(const Grid& grid, const TileCall& call);
[[nodiscard]] Extents sizes(const Grid& grid, const TileCall& call);

[[nodiscard]] std::int32_t leaves(const Blocks& blocks);
[[nodiscard]] Terms smooth(const Blocks& blocks, const TileCall& call);
[[nodiscard]] Extents sizes(const Blocks& blocks, const TileCall& call);

[[nodiscard]] std::int32_t leaves(const Dots& dots);
[[nodiscard]] Terms smooth(const Dots& dots, const TileCall& call);
[[nodiscard]] Extents sizes(const Dots& dots, const TileCall& call);

[[nodiscard]] std::int32_t leaves(const OuterProduct& outer);
[[nodiscard]] Terms smooth(const OuterProduct& outer, const TileCall& call);
[[nodiscard]] Extents sizes(const OuterProduct& outer, const TileCall& call);

[[nodiscard]] std::int32_t leaves(const RowPasses& passes);
[[nodiscard]] Terms smooth(const RowPasses& passes, const TileCall& call);
[[nodiscard]] Extents sizes(const RowPasses& passes, const TileCall& call);

[[nodiscard]] std::int32_t leaves(const Transposes& transposes);
[[nodiscard]] Terms smooth(const Transposes& transposes, const TileCall& call);
[[nodiscard]] Extents sizes(const Transposes& transposes, const TileCall& call);

[[nodiscard]] std::int32_t leaves(const Granules& granules);
[[nodiscard]] Terms smooth(const Granules& granules, const TileCall& call);
[[nodiscard]] Extents sizes(const Granules& granules, const TileCall& call);

[[nodiscard]] std::int32_t leaves(const WindowBlocks& blocks);
[[nodiscard]] Terms smooth(const WindowBlocks& blocks, const TileCall& call);
[[nodiscard]] Extents sizes(const WindowBlocks& blocks, const TileCall& call);

[[nodiscard]] std::int32_t leaves(const WindowDots& dots);
[[nodiscard]] Terms smooth(const WindowDots& dots, const TileCall& call);
[[nodiscard]] Extents sizes(const WindowDots& dots, const TileCall& call);

[[nodiscard]] std::int32_t leaves(const WindowLanes& lanes);
[[nodiscard]] Terms smooth(const WindowLanes& lanes, const TileCall& call);
[[nodiscard]] Extents sizes(const WindowLanes& lanes, const TileCall& call);

}  // namespace elk::tile::form
