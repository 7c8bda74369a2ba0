#include "elk/tile/form/evaluate.hpp"
#include "elk/tile/form/features.hpp"

namespace elk::tile::form {

using ir::TileDim;
using std::int32_t;
using std::int64_t;

constexpr int32_t kRowCases = 4;  // few rows, few and long, one a worker, more

int64_t row_case(const RowPasses& passes, int64_t rows, int64_t cols) {
  if (rows > passes.workers) {
    return 3;
  }
  if (rows > passes.workers / 2) {
    return 2;
  }
  return passes.cut > 0 && cols >= passes.cut ? 1 : 0;
}

int32_t leaves(const RowPasses& passes) { return kRowCases * (alignment(0, passes.modulus) + 1); }

template <class Sink>
void describe(const RowPasses& passes, const TileCall& call, Sink& sink) {
  const TileShape& shape = call.shape;
  const int64_t rows = shape[TileDim::Rows];
  const int64_t cols = shape[TileDim::Cols];
  const int64_t share = steps(rows, passes.workers);
  const int64_t aligned = alignment(cols, passes.modulus);
  const int64_t leaf = (kRowCases * aligned) + row_case(passes, rows, cols);
  const int32_t step = passes.workers * passes.vector;
  const double r = real(rows);
  const double q = real(share);
  const double by_rows = q * real(steps(cols, passes.vector));
  const double by_cols = r * real(steps(cols, step));
  const double all = real(steps(rows * cols, step));
  return sink.piece(leaf, 1.0, q, real(cols), q * real(cols), all, r, by_rows, by_cols,
                    std::min(by_rows, by_cols));
}

Terms smooth(const RowPasses& passes, const TileCall& call) {
  const TileShape& shape = call.shape;
  const int64_t rows = shape[TileDim::Rows];
  const double q = real(steps(rows, passes.workers));
  const double c = real(shape[TileDim::Cols]);
  return listed(0, 1.0, q, real(rows), q * c, real(rows) * c);
}

Extents sizes(const RowPasses& /*passes*/, const TileCall& call) {
  const TileShape& shape = call.shape;
  return {shape[TileDim::Rows], shape[TileDim::Cols], 1, 1, 1, 1, 1, 1, 1};
}

int32_t leaves(const Transposes& /*transposes*/) { return 8; }

template <class Sink>
void describe(const Transposes& transposes, const TileCall& call, Sink& sink) {
  const TileShape& shape = call.shape;
  const int64_t share = steps(shape[TileDim::Group], transposes.workers);
  const double q = real(share);
  const int64_t rows = steps(shape[TileDim::Rows], transposes.block);
  const int64_t cols = steps(shape[TileDim::Cols], transposes.block);
  const int64_t leaf = (rows == 1 ? 1 : 0) + (cols == 1 ? 2 : 0) + (share == 1 ? 4 : 0);
  return sink.piece(leaf, 1.0, q, q * real(rows), q * real(cols), q * real(rows * cols));
}

Terms smooth(const Transposes& transposes, const TileCall& call) {
  Terms out = features(transposes, call);
  out.leaf = 0;
  return out;
}

Extents sizes(const Transposes& /*transposes*/, const TileCall& call) {
  const TileShape& shape = call.shape;
  return {shape[TileDim::Group], shape[TileDim::Rows], shape[TileDim::Cols], 1, 1, 1, 1, 1, 1};
}

int32_t leaves(const Granules& /*granules*/) { return 1; }

template <class Sink>
void describe(const Granules& granules, const TileCall& call, Sink& sink) {
  const TileShape& shape = call.shape;
  std::array<int64_t, Granules::kSides + 1> extent;
  extent.fill(1);
  for (std::size_t dim = 1; dim < kTileDims; ++dim) {
    extent[granules.side[dim]] *= shape.size[dim];
  }
  double blocks = real(extent.back());
  for (std::size_t i = 0; i < Granules::kSides; ++i) {
    blocks *= real(steps(extent[i], granules.granule[i]));
  }
  return sink.piece(0, 1.0, blocks);
}

Terms smooth(const Granules& granules, const TileCall& call) { return features(granules, call); }

Extents sizes(const Granules& /*granules*/, const TileCall& /*call*/) {
  return {1, 1, 1, 1, 1, 1, 1, 1, 1};
}

template Terms features(const RowPasses&, const TileCall&);
template double cycles(const RowPasses&, const TileCall&, const double*, std::int32_t);
template bool within(const RowPasses&, const TileCall&, const Extents&);
template Terms features(const Transposes&, const TileCall&);
template double cycles(const Transposes&, const TileCall&, const double*, std::int32_t);
template bool within(const Transposes&, const TileCall&, const Extents&);
template Terms features(const Granules&, const TileCall&);
template double cycles(const Granules&, const TileCall&, const double*, std::int32_t);
template bool within(const Granules&, const TileCall&, const Extents&);

}  // namespace elk::tile::form
