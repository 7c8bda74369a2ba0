#include <utility>

#include "elk/tile/form/evaluate.hpp"
#include "elk/tile/form/features.hpp"

namespace elk::tile::form {
namespace {

using ir::TileDim;
using std::int32_t;
using std::int64_t;

int64_t product(const Dims& dims, const TileShape& shape) {
  int64_t size = 1;
  for (const TileDim dim : dims) {
    size *= dim == TileDim::None ? 1 : shape[dim];
  }
  return size;
}

int32_t split_count(const Grid& grid) {
  switch (grid.split) {
    case LeafRule::Whole:
      return 1;
    case LeafRule::Modulo:
    case LeafRule::Steps:
      return grid.modulus;
    case LeafRule::Remainder:
      return 2 * grid.modulus;
    case LeafRule::Alignment:
      return alignment(0, grid.modulus) + 1;
    case LeafRule::Multiple:
      return 2;
  }
  return 1;
}

/// The piece of an inner extent, and how many steps it takes.
std::pair<int64_t, int64_t> inner_piece(const Grid& grid, int64_t inner) {
  if (grid.split == LeafRule::Remainder) {
    const int64_t left = rest(inner, grid.modulus);
    const int64_t vectors = (inner - left) / grid.modulus;
    const bool even = rest(vectors, grid.inner_step) == 0;
    return {(2 * left) + (even ? 1 : 0), steps(vectors, grid.inner_step)};
  }
  const int64_t each = steps(inner, grid.inner_step);
  switch (grid.split) {
    case LeafRule::Modulo:
      return {rest(inner, grid.modulus), each};
    case LeafRule::Steps:
      return {rest(each, grid.modulus), each};
    case LeafRule::Alignment:
      return {alignment(inner, grid.modulus), each};
    case LeafRule::Multiple:
      return {rest(inner, grid.modulus) == 0 ? 1 : 0, each};
    case LeafRule::Whole:
    case LeafRule::Remainder:
      break;
  }
  return {0, each};
}

int32_t bound_count(const Grid& grid) {
  return static_cast<int32_t>(
      std::count_if(grid.bounds.begin(), grid.bounds.end(), [](int32_t at) { return at > 0; }));
}

}  // namespace

int32_t leaves(const Grid& grid) {
  return split_count(grid) * (grid.single ? 2 : 1) * (bound_count(grid) + 1) *
         (grid.total_bound > 0 ? 2 : 1) * (grid.variant ? 2 : 1);
}

template <class Sink>
void describe(const Grid& grid, const TileCall& call, Sink& sink) {
  const TileShape& shape = call.shape;
  const int64_t outer = product(grid.outer, shape);
  const int64_t inner = product(grid.inner, shape);
  if (grid.outer_at_most > 0 && outer > grid.outer_at_most) {
    return sink.none();
  }
  const int64_t items = steps(outer, grid.outer_step);
  auto [leaf, each] = inner_piece(grid, inner);
  // A digit of the leaf for each flag that tells pieces apart.
  const auto digit = [&, &at = leaf](int64_t base, int64_t value) { at = (at * base) + value; };
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
  return sink.piece(leaf, 1.0, real(items), real(each), real(items * each),
                    grid.scan ? real(outer) : 0.0);
}

/// Continues the variants of a call apart, as two halves of the coefficients.
Terms smooth(const Grid& grid, const TileCall& call) {
  const TileShape& shape = call.shape;
  const int64_t outer = product(grid.outer, shape);
  if (grid.outer_at_most > 0 && outer > grid.outer_at_most) {
    return kNoTerms;
  }
  const double items = real(steps(outer, grid.outer_step));
  const double each = real(product(grid.inner, shape)) / grid.inner_step;
  const double scanned = grid.scan ? real(outer) : 0.0;
  if (grid.variant && shape.params[0] != 0) {
    return listed(0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, items, each, items * each, scanned);
  }
  return listed(0, 1.0, items, each, items * each, scanned, 0.0, 0.0, 0.0, 0.0, 0.0);
}

Extents sizes(const Grid& grid, const TileCall& call) {
  return {product(grid.outer, call.shape), product(grid.inner, call.shape), 1, 1, 1, 1, 1, 1, 1};
}

template Terms features(const Grid&, const TileCall&);
template double cycles(const Grid&, const TileCall&, const double*, std::int32_t);
template bool within(const Grid&, const TileCall&, const Extents&);

}  // namespace elk::tile::form
