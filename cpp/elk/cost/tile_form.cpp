#include "elk/cost/tile_form.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace elk::cost {
namespace {

using ir::TileDim;
using std::int32_t;
using std::int64_t;
using std::uint32_t;

constexpr int32_t kRowPieces = 4;  // of ceil(m / workers): 1, 2, 3, more

/// ceil(amount / step), by a 32-bit division where that will do: it is several times as fast.
int64_t ceil_steps(int64_t amount, int32_t step) {
  if (amount <= INT32_MAX - step) {
    return (static_cast<uint32_t>(amount) + static_cast<uint32_t>(step) - 1U) /
           static_cast<uint32_t>(step);
  }
  return (amount + step - 1) / step;
}

int64_t rest(int64_t amount, int32_t step) {
  if (amount <= INT32_MAX) {
    return static_cast<uint32_t>(amount) % static_cast<uint32_t>(step);
  }
  return amount % step;
}

double real(int64_t value) { return static_cast<double>(value); }

int64_t product(const Dims& dims, const TileShape& shape) {
  int64_t size = 1;
  for (const TileDim dim : dims) {
    size *= dim == TileDim::None ? 1 : shape[dim];
  }
  return size;
}

/// log2 of the largest power of two, up to `limit`, that divides `size`.
int32_t alignment(int64_t size, int32_t limit) {
  int32_t power = 0;
  while ((1 << power) < limit && ((size >> power) & 1) == 0) {
    ++power;
  }
  return power;
}

/// The features of a piece, in the order of its coefficients.
Terms listed(int64_t leaf, std::initializer_list<double> values) {
  Terms out;
  out.leaf = static_cast<int32_t>(leaf);
  out.count = static_cast<int32_t>(values.size());
  std::copy(values.begin(), values.end(), out.value.begin());
  return out;
}

/// Appends the cost features of casting `elements` results, dealt to `workers`: the steps of one
/// worker and their place in a vector of four.
void append_cast(int64_t elements, int32_t workers, Terms& out) {
  const int64_t steps = ceil_steps(elements, workers);
  const auto at = static_cast<std::size_t>(out.count);
  out.value[at] = real(steps);
  for (std::size_t place = 1; place < 4; ++place) {
    out.value[at + place] = static_cast<std::size_t>(steps % 4) == place ? 1.0 : 0.0;
  }
  out.count += 4;
}

// ---------------------------------------------------------------------------------------- Grid

int32_t split_count(const Grid& grid) {
  switch (grid.split) {
    case Split::Whole:
      return 1;
    case Split::Modulo:
    case Split::Steps:
      return grid.modulus;
    case Split::Remainder:
      return 2 * grid.modulus;
    case Split::Alignment:
      return alignment(0, grid.modulus) + 1;
  }
  return 1;
}

/// The piece of an inner extent, and how many steps it takes.
std::pair<int64_t, int64_t> inner_piece(const Grid& grid, int64_t inner) {
  if (grid.split == Split::Remainder) {
    const int64_t left = rest(inner, grid.modulus);
    const int64_t vectors = (inner - left) / grid.modulus;
    const bool even = rest(vectors, grid.inner_step) == 0;
    return {(2 * left) + (even ? 1 : 0), ceil_steps(vectors, grid.inner_step)};
  }
  const int64_t steps = ceil_steps(inner, grid.inner_step);
  switch (grid.split) {
    case Split::Modulo:
      return {rest(inner, grid.modulus), steps};
    case Split::Steps:
      return {rest(steps, grid.modulus), steps};
    case Split::Alignment:
      return {alignment(inner, grid.modulus), steps};
    case Split::Whole:
    case Split::Remainder:
      break;
  }
  return {0, steps};
}

int32_t bound_count(const Grid& grid) {
  return static_cast<int32_t>(
      std::count_if(grid.bounds.begin(), grid.bounds.end(), [](int32_t at) { return at > 0; }));
}

int32_t leaves(const Grid& grid) {
  return split_count(grid) * std::max(grid.outer_at_most, 1) * (grid.single ? 2 : 1) *
         (bound_count(grid) + 1) * (grid.total_bound > 0 ? 2 : 1) * (grid.variant ? 2 : 1);
}

bool applies(const Grid& grid, const TileShape& shape, int64_t outer) {
  return (grid.outer_at_most == 0 || outer <= grid.outer_at_most) &&
         (grid.unit == TileDim::None || shape[grid.unit] == 1);
}

Terms features(const Grid& grid, const TileShape& shape) {
  const int64_t outer = product(grid.outer, shape);
  const int64_t inner = product(grid.inner, shape);
  if (!applies(grid, shape, outer)) {
    return listed(-1, {});
  }
  const int64_t items = ceil_steps(outer, grid.outer_step);
  auto [leaf, each] = inner_piece(grid, inner);
  // A digit of the leaf for each flag that tells pieces apart.
  const auto digit = [&, &at = leaf](int64_t base, int64_t value) { at = (at * base) + value; };
  if (grid.outer_at_most > 0) {
    digit(grid.outer_at_most, outer - 1);
  }
  if (grid.single) {
    digit(2, items == 1 ? 1 : 0);
  }
  if (grid.bounds.front() > 0) {
    const int64_t v = each;
    digit(bound_count(grid) + 1,
          std::count_if(grid.bounds.begin(), grid.bounds.end(),
                        [v](int32_t bound) { return bound > 0 && v >= bound; }));
  }
  if (grid.total_bound > 0) {
    digit(2, outer * inner > grid.total_bound ? 1 : 0);
  }
  if (grid.variant) {
    digit(2, shape.params[0] != 0 ? 1 : 0);
  }
  return listed(leaf,
                {1.0, real(items), real(each), real(items * each), grid.scan ? real(outer) : 0.0});
}

/// Continues the variants of a call apart, as two halves of the coefficients.
Terms smooth_features(const Grid& grid, const TileShape& shape) {
  const int64_t outer = product(grid.outer, shape);
  const double items = real(ceil_steps(outer, grid.outer_step));
  const double each = real(product(grid.inner, shape)) / grid.inner_step;
  const double scanned = grid.scan ? real(outer) : 0.0;
  if (grid.variant && shape.params[0] != 0) {
    return listed(0, {0.0, 0.0, 0.0, 0.0, 0.0, 1.0, items, each, items * each, scanned});
  }
  return listed(0, {1.0, items, each, items * each, scanned, 0.0, 0.0, 0.0, 0.0, 0.0});
}

Extents sizes(const Grid& grid, const TileShape& shape) {
  return {product(grid.outer, shape), product(grid.inner, shape), 1, 1, 1, 1, 1, 1, 1};
}

// -------------------------------------------------------------------------------------- Blocks

/// A product, and how many rows its busiest worker has.
struct Product {
  int64_t group;
  int64_t rows;
  int64_t columns;
  int64_t depth;
  int64_t share;  // ceil(rows / workers)
  bool even;      // all workers have as many

  Product(const TileShape& shape, int32_t workers)
      : group(shape[TileDim::Group]),
        rows(shape[TileDim::M]),
        columns(shape[TileDim::N]),
        depth(shape[TileDim::K]),
        share(ceil_steps(rows, workers)),
        even(share * workers == rows) {}

  [[nodiscard]] int64_t piece() const { return std::min<int64_t>(share, kRowPieces) - 1; }
};

int32_t leaves(const Blocks& /*blocks*/) { return kRowPieces; }

Terms features(const Blocks& blocks, const TileShape& shape) {
  const Product p(shape, blocks.workers);
  const double n = real(p.group * ceil_steps(p.columns, blocks.out_group));
  const int64_t deep = ceil_steps(p.depth, blocks.in_group);
  const double k = real(p.group * deep);
  const double nk = n * real(deep);
  const double q = real(p.share);
  const double even = p.even ? 1.0 : 0.0;
  Terms out =
      listed(p.piece(), {1.0, real(p.group), n, k, nk, even * n, even * nk, q * n, q * nk, q * k});
  if (blocks.cast) {
    append_cast(p.group * p.rows * p.columns, blocks.workers, out);
  }
  return out;
}

Terms smooth_features(const Blocks& blocks, const TileShape& shape) {
  const Product p(shape, blocks.workers);
  const double n = real(p.group * ceil_steps(p.columns, blocks.out_group));
  const double k = real(ceil_steps(p.depth, blocks.in_group));
  const double q = real(p.share);
  return listed(0, {1.0, real(p.group), n, n * k, q * n, q * n * k});
}

Extents product_sizes(const TileShape& shape) {
  const int64_t few = std::min(shape[TileDim::M], shape[TileDim::N]);
  const int64_t many = std::max(shape[TileDim::M], shape[TileDim::N]);
  return {shape[TileDim::Group], few, many, shape[TileDim::K], 1, 1, 1, 1, 1};
}

Extents sizes(const Blocks& /*blocks*/, const TileShape& shape) { return product_sizes(shape); }

// ---------------------------------------------------------------------------------------- Dots

/// The fewest chunks of `depth` that are whole vectors once padded to granules, and their length.
/// Zero chunks if `depth` is too short for any.
std::pair<int64_t, int64_t> chunks(const Dots& dots, int64_t depth) {
  for (int32_t count = 1;; ++count) {
    const int64_t length = ceil_steps(ceil_steps(depth, count), dots.granule) * dots.granule;
    if (rest(length, dots.vector) == 0) {
      return {count, length};
    }
    if (length <= dots.granule) {
      return {0, 0};
    }
  }
}

int32_t leaves(const Dots& dots) { return dots.aligned ? kRowPieces : 1; }

Terms features(const Dots& dots, const TileShape& shape) {
  const Product p(shape, dots.workers);
  auto [count, length] = chunks(dots, p.depth);
  if (dots.aligned ? count == 0 : count == 1) {
    return listed(-1, {});
  }
  if (!dots.aligned) {
    count = 1;
    length = ceil_steps(p.depth, dots.granule) * dots.granule;
  }
  const double g = real(p.group);
  const double n = g * real(ceil_steps(p.columns, dots.out_group));
  const double c = real(count);
  const double q = real(p.share);
  const double even = p.even ? n * c : 0.0;
  Terms out = listed(dots.aligned ? p.piece() : 0,
                     {1.0, g, g * c, n, n * c, n * q, n * c * q, n * c * q * real(length), even});
  if (dots.cast) {
    append_cast(p.group * p.rows * p.columns, dots.workers, out);
  }
  return out;
}

Terms smooth_features(const Dots& dots, const TileShape& shape) {
  const Product p(shape, dots.workers);
  const double n = real(p.group * ceil_steps(p.columns, dots.out_group));
  const double q = real(p.share);
  return listed(0, {1.0, real(p.group), n, n * q, n * q * real(p.depth)});
}

Extents sizes(const Dots& /*dots*/, const TileShape& shape) { return product_sizes(shape); }

// ----------------------------------------------------------------------------------- RowPasses

constexpr int32_t kRowCases = 3;  // rows that can be cut for all workers, one a worker, more

int32_t leaves(const RowPasses& passes) { return kRowCases * (alignment(0, passes.modulus) + 1); }

Terms features(const RowPasses& passes, const TileShape& shape) {
  const int64_t rows = shape[TileDim::Rows];
  const int64_t cols = shape[TileDim::Cols];
  const int64_t share = ceil_steps(rows, passes.workers);
  const int64_t few = 2 * rows <= passes.workers ? 0 : 1;
  const int64_t leaf = (kRowCases * alignment(cols, passes.modulus)) + (share > 1 ? 2 : few);
  const int32_t step = passes.workers * passes.vector;
  const double r = real(rows);
  const double q = real(share);
  const double by_rows = q * real(ceil_steps(cols, passes.vector));
  const double by_cols = r * real(ceil_steps(cols, step));
  const double all = real(ceil_steps(rows * cols, step));
  return listed(leaf, {1.0, q, real(cols), q * real(cols), all, r, by_rows, by_cols,
                       std::min(by_rows, by_cols)});
}

Terms smooth_features(const RowPasses& passes, const TileShape& shape) {
  const int64_t rows = shape[TileDim::Rows];
  const double q = real(ceil_steps(rows, passes.workers));
  const double c = real(shape[TileDim::Cols]);
  return listed(0, {1.0, q, real(rows), q * c, real(rows) * c});
}

Extents sizes(const RowPasses& /*passes*/, const TileShape& shape) {
  return {shape[TileDim::Rows], shape[TileDim::Cols], 1, 1, 1, 1, 1, 1, 1};
}

// ---------------------------------------------------------------------------------- Transposes

int32_t leaves(const Transposes& /*transposes*/) { return 4; }

Terms features(const Transposes& transposes, const TileShape& shape) {
  const double q = real(ceil_steps(shape[TileDim::Group], transposes.workers));
  const int64_t rows = ceil_steps(shape[TileDim::Rows], transposes.block);
  const int64_t cols = ceil_steps(shape[TileDim::Cols], transposes.block);
  const int64_t leaf = (rows == 1 ? 1 : 0) + (cols == 1 ? 2 : 0);
  return listed(leaf, {1.0, q, q * real(rows), q * real(cols), q * real(rows * cols)});
}

Terms smooth_features(const Transposes& transposes, const TileShape& shape) {
  Terms out = features(transposes, shape);
  out.leaf = 0;
  return out;
}

Extents sizes(const Transposes& /*transposes*/, const TileShape& shape) {
  return {shape[TileDim::Group], shape[TileDim::Rows], shape[TileDim::Cols], 1, 1, 1, 1, 1, 1};
}

// ------------------------------------------------------------------------------------ Granules

int32_t leaves(const Granules& /*granules*/) { return 1; }

Terms features(const Granules& granules, const TileShape& shape) {
  double blocks = 1.0;
  for (std::size_t dim = 1; dim < kTileDims; ++dim) {
    blocks *= real(ceil_steps(shape.size[dim], granules.granule[dim]));
  }
  return listed(0, {1.0, blocks});
}

Terms smooth_features(const Granules& granules, const TileShape& shape) {
  return features(granules, shape);
}

Extents sizes(const Granules& /*granules*/, const TileShape& /*shape*/) {
  return {1, 1, 1, 1, 1, 1, 1, 1, 1};
}

}  // namespace

std::int32_t leaf_count(const Form& form) {
  return std::visit([](const auto& kind) { return leaves(kind); }, form);
}

Terms terms(const Form& form, const TileShape& shape) {
  return std::visit([&](const auto& kind) { return features(kind, shape); }, form);
}

Terms smooth_terms(const Form& form, const TileShape& shape) {
  return std::visit([&](const auto& kind) { return smooth_features(kind, shape); }, form);
}

Extents extents(const Form& form, const TileShape& shape) {
  return std::visit([&](const auto& kind) { return sizes(kind, shape); }, form);
}

bool is_product(const Form& form) {
  return std::holds_alternative<Blocks>(form) || std::holds_alternative<Dots>(form);
}

TileShape transposed(const TileShape& shape) {
  TileShape out = shape;
  std::swap(out.size[static_cast<std::size_t>(TileDim::M)],
            out.size[static_cast<std::size_t>(TileDim::N)]);
  return out;
}

}  // namespace elk::cost
