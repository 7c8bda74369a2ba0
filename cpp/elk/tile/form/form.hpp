#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "elk/ir/graph.hpp"
#include "elk/tile/form/shape.hpp"

namespace elk::tile {

/// The features of one tile under one formula. A formula is linear piece by piece: `leaf` says
/// which piece holds the tile, and `value[0..count)` multiply the coefficients of that piece.
struct Terms {
  std::int32_t leaf;
  std::int32_t count;
  std::array<double, 24> value;
};

/// The sizes of a tile under one formula: what the fitted range is a box of. 1 where unused.
using Extents = std::array<std::int64_t, 9>;

/// A product of axis sizes; `None` counts as 1.
using Dims = std::array<ir::TileDim, 3>;

/// How the inner extent of a grid chooses the linear piece.
enum class LeafRule : std::uint8_t {
  Whole,      // one piece
  Modulo,     // by inner % modulus
  Steps,      // by ceil(inner / inner_step) % modulus
  Remainder,  // vectors of `modulus` dealt in inner_step, and what is left over
  Alignment,  // by the largest power of two, up to modulus, that divides inner
  Multiple,   // by whether modulus divides inner
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
  LeafRule split;
  std::int32_t modulus;
  bool single;                         // a piece of its own for q = 1
  std::int32_t outer_at_most;          // more items: no such formula. 0: any
  std::array<std::int32_t, 3> bounds;  // pieces by how many of them v has reached; 0: unused
  std::int32_t total_bound;            // pieces by whether outer x inner exceeds it; 0: unused
  bool scan;                           // every worker looks at every item
  bool variant;                        // pieces by whether the first parameter of the call is set

  friend bool operator==(const Grid&, const Grid&) = default;
};

/// A matrix product in blocks of `in_group` x `out_group` on a unit that streams the rows of the
/// field m past a block of weights, the rows dealt to `workers`. Short loops have costs of their
/// own: pieces for q = 1, 2, 3, more, with q = ceil(m / workers) or, with `shared`, one piece and
/// features for those q, for which fewer rows will do. `cast` adds the conversion of the m x n
/// results; `window` reads a convolution of 1 x 1 kernels as a product of output positions,
/// channels in and channels out.
struct Blocks {
  std::int32_t in_group;
  std::int32_t out_group;
  std::int32_t workers;
  bool cast;
  bool window;
  bool shared;

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
  std::int32_t cut;      // rows this long, if few, are cut for all workers: a piece of their own

  friend bool operator==(const RowPasses&, const RowPasses&) = default;
};

/// Matrices, dealt to `workers`, each transposed in blocks of `block` x `block`. Pieces: one row or
/// column of blocks is a case of its own.
struct Transposes {
  std::int32_t workers;
  std::int32_t block;

  friend bool operator==(const Transposes&, const Transposes&) = default;
};

/// A product of depth one: results in groups of `out_group`, rows dealt to `workers`.
struct OuterProduct {
  std::int32_t out_group;
  std::int32_t workers;

  friend bool operator==(const OuterProduct&, const OuterProduct&) = default;
};

/// A convolution in the blocks of `Blocks`, position after position of the kernel; `rows_merged`
/// rows of the kernel share a block of weights. Rows of the output are dealt to workers in runs.
struct WindowBlocks {
  std::int32_t in_group;
  std::int32_t out_group;
  std::int32_t rows_merged;
  std::int32_t workers;
  bool cast;

  friend bool operator==(const WindowBlocks&, const WindowBlocks&) = default;
};

/// A convolution as the dot products of `Dots`, position after position of the kernel.
struct WindowDots {
  std::int32_t granule;
  std::int32_t vector;
  std::int32_t out_group;
  std::int32_t workers;
  bool aligned;
  bool cast;

  friend bool operator==(const WindowDots&, const WindowDots&) = default;
};

/// Which library routine a window over channels that do not mix runs in.
enum class WindowKind : std::uint8_t {
  Vertical,  // one kernel position at a time; pieces by output positions % workers
  Sliding,   // four kernel columns at a time; pieces by stride
  Pooling,   // one kernel position at a time, rows dealt in runs
};

/// Pooling, depthwise convolutions, convolutions of few channels: `lanes` channels at a time.
/// `most` bounds the channels in and out (0: any).
struct WindowLanes {
  WindowKind kind;
  std::int32_t lanes;
  std::int32_t most;
  std::int32_t workers;

  friend bool operator==(const WindowLanes&, const WindowLanes&) = default;
};

/// A unit that works in tiles of up to three sides, each of axes that are counted together:
///
///     c = c0 + c1 r prod ceil(s_i / g_i)
///
/// s_i is the product of the axes on side i, g_i its granule, r the product of the axes on no side.
/// Chips without a profile are described by it.
struct Granules {
  static constexpr std::size_t kSides = 3;
  std::array<std::uint8_t, kTileDims> side;  // of each TileDim; kSides: on none
  std::array<std::int32_t, kSides> granule;  // of each side

  friend bool operator==(const Granules&, const Granules&) = default;
};

using Formula = std::variant<Grid, Blocks, Dots, OuterProduct, RowPasses, Transposes, Granules,
                             WindowBlocks, WindowDots, WindowLanes>;

/// What the busiest worker has of an output field whose elements are dealt in equal runs.
struct Field {
  double runs;  // pieces of rows
  double elements;
  double ones;  // runs of one element
  double twos;  // runs of two
};

/// A window over an output field.
struct Window {
  std::int64_t rows;       // of the output, over the batch
  std::int64_t field;      // output positions
  std::int64_t positions;  // of the kernel
};

/// A matrix product, or a convolution read as one, and how many rows its busiest worker has.
struct Product {
  std::int64_t group;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
  std::int64_t share;  // ceil(rows / workers)
  bool even;           // all workers have as many
};

/// The fewest chunks of a depth that are whole vectors once padded to granules.
struct Chunks {
  std::int64_t count;  // 0: the depth is too short for any
  std::int64_t length;
};

/// What the formulas of one kernel ask of a tile. They agree on all of it.
struct FormulaNeeds {
  bool product;
  bool window;
  std::int32_t workers;
  std::int32_t granule;  // 0: no chunks
  std::int32_t vector;
  std::int64_t most_columns;  // no formula asks for the chunks of a product with more, either way
  double per_worker;          // 1 / workers
  std::int64_t radix;         // the least power of two above every worker's number, from 0
};

/// A tile, and what several formulas need of it.
struct TileCall {
  const TileShape& shape;
  Product product{};
  Chunks chunks{};
  Window window{};
  Field field{};

  TileCall(const TileShape& tile, const FormulaNeeds& needs);

  /// Exchanges the two free axes of the product.
  void exchange(const FormulaNeeds& needs);
};

/// What the formulas ask of a tile.
[[nodiscard]] FormulaNeeds needs_of(std::span<const Formula> forms);

/// How many pieces `form` has.
[[nodiscard]] std::int32_t leaf_count(const Formula& form);

/// How many features a piece of `form` has, and how many its smooth continuation.
[[nodiscard]] std::int32_t feature_count(const Formula& form);
[[nodiscard]] std::int32_t smooth_count(const Formula& form);

/// The features of a tile; a negative leaf where the formula cannot compute it at all.
[[nodiscard]] Terms terms(const Formula& form, const TileCall& call);

/// Features that grow with every axis, in one piece: with coefficients that are not negative, time
/// grows with every axis. A negative leaf where the formula cannot compute the tile: never again
/// where an axis grows.
[[nodiscard]] Terms smooth_terms(const Formula& form, const TileCall& call);

/// Whether the smooth continuation of `form` takes every tile.
[[nodiscard]] bool takes_all(const Formula& form);

[[nodiscard]] Extents extents(const Formula& form, const TileCall& call);

/// Whether no extent of the call exceeds `limit`.
[[nodiscard]] bool fits(const Formula& form, const TileCall& call, const Extents& limit);

}  // namespace elk::tile
