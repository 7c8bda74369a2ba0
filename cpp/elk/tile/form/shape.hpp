#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "elk/ir/graph.hpp"

namespace elk::tile {

inline constexpr std::size_t kTileDims = 17;  // number of ir::TileDim values

/// One call of a tile kernel: the product of the sub-task's axis sizes by role, 1 where absent.
///
/// `params`: conv and pool: stride h, stride w; gather: table rows, unused; elementwise: 1 where
/// the result overwrites an operand, unused; axpy: 1 where both operands load in one cycle; opaque:
/// bytes read and written (0: two f32 an element), unused.
struct TileShape {
  std::array<std::int64_t, kTileDims> size;  // indexed by ir::TileDim
  std::array<std::int64_t, 2> params;

  [[nodiscard]] std::int64_t operator[](ir::TileDim dim) const {
    return size[static_cast<std::size_t>(dim)];
  }

  friend bool operator==(const TileShape&, const TileShape&) = default;
};

}  // namespace elk::tile
