#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "elk/cost/tile_form.hpp"

/// What the forms of a tile model share: their features, one group of functions a form, and
/// arithmetic in steps.
namespace elk::cost::form {

/// ceil(amount / step), by a 32-bit division where that will do: it is several times as fast.
[[nodiscard]] inline std::int64_t steps(std::int64_t amount, std::int32_t step) {
  const auto size = static_cast<std::uint32_t>(step);
  if (amount <= std::numeric_limits<std::int32_t>::max()) {
    return (static_cast<std::uint32_t>(amount) + size - 1U) / size;
  }
  return (amount + step - 1) / step;
}

/// amount % step.
[[nodiscard]] inline std::int64_t rest(std::int64_t amount, std::int32_t step) {
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

/// The features of a piece, in the order of its coefficients.
template <class... Values>
[[nodiscard]] Terms listed(std::int64_t leaf, Values... values) {
  // What lies behind the last value is never read: clearing it would double the cost of a form.
  Terms out;  // NOLINT(cppcoreguidelines-pro-type-member-init): see above.
  out.leaf = static_cast<std::int32_t>(leaf);
  out.count = static_cast<std::int32_t>(sizeof...(values));
  auto* at = out.value.data();
  ((*at++ = values), ...);
  return out;
}

/// The form does not apply.
[[nodiscard]] inline Terms none() { return listed(-1); }

/// Appends the features of casting `elements` results, dealt to `workers`: the steps of one worker,
/// and their place in a vector of four.
void append_cast(std::int64_t elements, std::int32_t workers, Terms& out);

// For each form: how many pieces it has, the features of a tile, features that grow with every
// axis, and the sizes that the fitted range bounds.
[[nodiscard]] std::int32_t leaves(const Grid& grid);
[[nodiscard]] Terms features(const Grid& grid, const TileCall& call);
[[nodiscard]] Terms smooth(const Grid& grid, const TileCall& call);
[[nodiscard]] Extents sizes(const Grid& grid, const TileCall& call);

[[nodiscard]] std::int32_t leaves(const Blocks& blocks);
[[nodiscard]] Terms features(const Blocks& blocks, const TileCall& call);
[[nodiscard]] Terms smooth(const Blocks& blocks, const TileCall& call);
[[nodiscard]] Extents sizes(const Blocks& blocks, const TileCall& call);

[[nodiscard]] std::int32_t leaves(const Dots& dots);
[[nodiscard]] Terms features(const Dots& dots, const TileCall& call);
[[nodiscard]] Terms smooth(const Dots& dots, const TileCall& call);
[[nodiscard]] Extents sizes(const Dots& dots, const TileCall& call);

[[nodiscard]] std::int32_t leaves(const OuterProduct& outer);
[[nodiscard]] Terms features(const OuterProduct& outer, const TileCall& call);
[[nodiscard]] Terms smooth(const OuterProduct& outer, const TileCall& call);
[[nodiscard]] Extents sizes(const OuterProduct& outer, const TileCall& call);

[[nodiscard]] std::int32_t leaves(const RowPasses& passes);
[[nodiscard]] Terms features(const RowPasses& passes, const TileCall& call);
[[nodiscard]] Terms smooth(const RowPasses& passes, const TileCall& call);
[[nodiscard]] Extents sizes(const RowPasses& passes, const TileCall& call);

[[nodiscard]] std::int32_t leaves(const Transposes& transposes);
[[nodiscard]] Terms features(const Transposes& transposes, const TileCall& call);
[[nodiscard]] Terms smooth(const Transposes& transposes, const TileCall& call);
[[nodiscard]] Extents sizes(const Transposes& transposes, const TileCall& call);

[[nodiscard]] std::int32_t leaves(const Granules& granules);
[[nodiscard]] Terms features(const Granules& granules, const TileCall& call);
[[nodiscard]] Terms smooth(const Granules& granules, const TileCall& call);
[[nodiscard]] Extents sizes(const Granules& granules, const TileCall& call);

[[nodiscard]] std::int32_t leaves(const WindowBlocks& blocks);
[[nodiscard]] Terms features(const WindowBlocks& blocks, const TileCall& call);
[[nodiscard]] Terms smooth(const WindowBlocks& blocks, const TileCall& call);
[[nodiscard]] Extents sizes(const WindowBlocks& blocks, const TileCall& call);

[[nodiscard]] std::int32_t leaves(const WindowDots& dots);
[[nodiscard]] Terms features(const WindowDots& dots, const TileCall& call);
[[nodiscard]] Terms smooth(const WindowDots& dots, const TileCall& call);
[[nodiscard]] Extents sizes(const WindowDots& dots, const TileCall& call);

[[nodiscard]] std::int32_t leaves(const WindowLanes& lanes);
[[nodiscard]] Terms features(const WindowLanes& lanes, const TileCall& call);
[[nodiscard]] Terms smooth(const WindowLanes& lanes, const TileCall& call);
[[nodiscard]] Extents sizes(const WindowLanes& lanes, const TileCall& call);

}  // namespace elk::cost::form
