#pragma once

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "elk/cost/tile_shape.hpp"
#include "elk/ir/graph.hpp"

namespace elk::cost {

/// The features of one tile under one form. A form is linear piece by piece: `leaf` says which
/// piece holds the tile, and `value[0..count)` multiply the coefficients of that piece.
struct Terms {
  std::int32_t leaf;
  std::int32_t count;
  std::array<double, 24> value;
};

/// The sizes of a tile under one form: what the fitted range is a box of. 1 where unused.
using Extents = std::array<std::int64_t, 9>;

/// A product of axis sizes; `None` counts as 1.
using Dims = std::array<ir::TileDim, 3>;

/// How the inner extent of a grid chooses the linear piece.
enum class Split : std::uint8_t {
  Whole,      // one piece
  Modulo,     // by inner % modulus
  Steps,      // by ceil(inner / inner_step) % modulus
  Remainder,  // vectors of `modulus` dealt in inner_step, and what is left over
  Alignment,  // by the largest power of two, up to modulus, that divides inner
};

/// `outer` items of `inner` elements each:
///
///     c = c0 + c1 q + c2 v + c3 q v + c4 s,
///     q = ceil(outer / outer_step), v = ceil(inner / inner_step), s = outer if `scan`, else 0
///
/// (Remainder: v counts whole vectors.) A step is how many items or elements are worked on at once:
/// the workers of a core, the lanes of a vector, or both. Coefficients differ between the pieces
/// that the flags tell apart.
struct Grid {
  Dims outer;
  Dims inner;
  std::int32_t outer_step;
  std::int32_t inner_step;
  Split split;
  std::int32_t modulus;
  bool single;                         // a piece of its own for q = 1
  std::int32_t outer_at_most;          // more items: no such form; a piece for each count. 0: any
  std::array<std::int32_t, 3> bounds;  // pieces by how many of them v has reached; 0: unused
  std::int32_t total_bound;            // pieces by whether outer x inner exceeds it; 0: unused
  bool scan;                           // every worker looks at every item
  bool variant;                        // pieces by whether the first parameter of the call is set
  ir::TileDim unit;                    // must be 1, or there is no such form; None: no condition

  friend bool operator==(const Grid&, const Grid&) = default;
};

/// A matrix product in blocks of `in_group` x `out_group` on a unit that streams the rows of the
/// field m past a block of weights, the rows dealt to `workers`. Pieces: q = 1, 2, 3, more, with
/// q = ceil(m / workers); short loops have costs of their own. `cast` adds the conversion of the
/// m x n results.
struct Blocks {
  std::int32_t in_group;
  std::int32_t out_group;
  std::int32_t workers;
  bool cast;

  friend bool operator==(const Blocks&, const Blocks&) = default;
};

/// A matrix product as dot products along k, in the fewest chunks whose length, in `granule`s, is a
/// multiple of `vector`. `aligned` false: one chunk of any other length, element by element.
struct Dots {
  std::int32_t granule;
  std::int32_t vector;
  std::int32_t out_group;
  std::int32_t workers;
  bool aligned;
  bool cast;

  friend bool operator==(const Dots&, const Dots&) = default;
};

/// Several passes over [rows, cols], some dealt by rows and some by columns: softmax, norms.
struct RowPasses {
  std::int32_t workers;
  std::int32_t vector;
  std::int32_t modulus;  // pieces by the alignment of cols, and by how many workers rows feed

  friend bool operator==(const RowPasses&, const RowPasses&) = default;
};

/// Matrices, dealt to `workers`, each transposed in blocks of `block` x `block`. Pieces: one row or
/// column of blocks is a case of its own.
struct Transposes {
  std::int32_t workers;
  std::int32_t block;

  friend bool operator==(const Transposes&, const Transposes&) = default;
};

/// A unit that works in tiles of `granule` (one entry a TileDim): c = c0 + c1 prod ceil(size / g).
/// Chips without a profile are described by it.
struct Granules {
  std::array<std::int32_t, kTileDims> granule;

  friend bool operator==(const Granules&, const Granules&) = default;
};

using Form = std::variant<Grid, Blocks, Dots, RowPasses, Transposes, Granules>;

/// How many pieces `form` has.
[[nodiscard]] std::int32_t leaf_count(const Form& form);

/// The features of `shape`; a negative leaf where the form cannot compute the tile at all.
[[nodiscard]] Terms terms(const Form& form, const TileShape& shape);

/// Features that grow with every axis, in one piece: with coefficients that are not negative, time
/// grows with every axis.
[[nodiscard]] Terms smooth_terms(const Form& form, const TileShape& shape);

[[nodiscard]] Extents extents(const Form& form, const TileShape& shape);

/// Whether `form` is a product, which may also be computed transposed.
[[nodiscard]] bool is_product(const Form& form);

/// The tile with the two free axes of the product exchanged.
[[nodiscard]] TileShape transposed(const TileShape& shape);

}  // namespace elk::cost
