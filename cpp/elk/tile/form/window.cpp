#include "elk/tile/form/evaluate.hpp"
#include "elk/tile/form/features.hpp"

namespace elk::tile::form {
namespace {

using ir::TileDim;
using std::int32_t;
using std::int64_t;

constexpr int32_t kColumnsAtOnce = 4;  // of the kernel, in the sliding routine
constexpr int64_t kManyPasses = 8;     // more of them, and the routine is another one

Extents window_sizes(const TileCall& call) {
  const TileShape& shape = call.shape;
  return {call.window.rows,
          shape[TileDim::OutW],
          shape[TileDim::InCh],
          shape[TileDim::OutCh],
          shape[TileDim::KernelH],
          shape[TileDim::KernelW],
          shape[TileDim::Group],
          1,
          1};
}

/// Runs of rows that a worker has in the mean.
double row_share(const TileCall& call, int32_t workers) {
  return real(steps(call.window.rows, workers));
}

/// Steps of the busiest worker that casts the results; 0 where none are cast.
double cast_share(bool cast, const TileCall& call, int32_t workers) {
  return cast ? window_casting(call, workers).share : 0.0;
}

double groups(const TileShape& shape) { return real(shape[TileDim::Group]); }

bool too_many_channels(const WindowLanes& lanes, const TileShape& shape) {
  return lanes.most > 0 && std::max(shape[TileDim::InCh], shape[TileDim::OutCh]) > lanes.most;
}

}  // namespace

// -------------------------------------------------------------------------------- WindowBlocks

int32_t leaves(const WindowBlocks& /*blocks*/) { return 1; }

template <class Sink>
void describe(const WindowBlocks& blocks, const TileCall& call, Sink& sink) {
  const TileShape& shape = call.shape;
  const Field& field = call.field;
  const double n = groups(shape) * real(steps(shape[TileDim::OutCh], blocks.out_group));
  const double nk = n * real(steps(shape[TileDim::InCh], blocks.in_group));
  const double merged = real(steps(shape[TileDim::KernelH], blocks.rows_merged));
  const double nkp = nk * merged * real(shape[TileDim::KernelW]);
  sink.piece(0, 1.0, n);
  sink.scaled(nk, 1.0, merged);
  sink.scaled(nkp, 1.0, field.runs, field.elements, field.ones, field.twos);
  sink.more(n * real(call.window.field), nk * real(shape[TileDim::KernelH]),
            nkp * real(field.runs == 1.0));
  if (blocks.cast) {
    describe(window_casting(call, blocks.workers), sink);
  }
}

Terms smooth(const WindowBlocks& blocks, const TileCall& call) {
  const TileShape& shape = call.shape;
  const double n = groups(shape) * real(steps(shape[TileDim::OutCh], blocks.out_group));
  const double nk = n * real(steps(shape[TileDim::InCh], blocks.in_group));
  const double merged = nk * real(steps(shape[TileDim::KernelH], blocks.rows_merged));
  const double nkp = merged * real(shape[TileDim::KernelW]);
  return listed(0, 1.0, n, nk, nk * real(shape[TileDim::KernelH]), merged, nkp,
                nkp * row_share(call, blocks.workers), nkp * real(call.product.share),
                n * real(call.window.field), cast_share(blocks.cast, call, blocks.workers));
}

Extents sizes(const WindowBlocks& /*blocks*/, const TileCall& call) { return window_sizes(call); }

// ---------------------------------------------------------------------------------- WindowDots

int32_t leaves(const WindowDots& /*dots*/) { return 1; }

template <class Sink>
void describe(const WindowDots& dots, const TileCall& call, Sink& sink) {
  const TileShape& shape = call.shape;
  const int64_t depth = shape[TileDim::InCh];
  auto [count, length] = call.chunks;
  if (dots.aligned ? count == 0 : count == 1) {
    return sink.none();
  }
  if (!dots.aligned) {
    count = 1;
    length = steps(depth, dots.granule) * dots.granule;
  }
  const Window& window = call.window;
  const int64_t whole = call.product.share - (call.product.even ? 0 : 1);
  const int64_t left = window.field - (whole * dots.workers);
  const double share = real(whole);
  const double n = groups(shape) * real(steps(shape[TileDim::OutCh], dots.out_group));
  const double ncp = n * real(count) * real(window.positions);
  const double all = n * real(window.positions) * real(count * length);
  // How the last elements fall to workers: none, few, or most of them have one more.
  const double some = real(left > 0);
  const double many = real(2 * left > dots.workers);
  const double most = real(left + 1 == dots.workers);
  sink.piece(0, 1.0, n, n * real(count), ncp, ncp * share, all * share, all * some, all * many,
             all * most, ncp * some, ncp * many, ncp * most, n * real(window.field));
  if (dots.cast) {
    describe(window_casting(call, dots.workers), sink);
  }
}

Terms smooth(const WindowDots& dots, const TileCall& call) {
  const double n = groups(call.shape) * real(steps(call.shape[TileDim::OutCh], dots.out_group));
  const double np = n * real(call.window.positions);
  const double depth = real(call.shape[TileDim::InCh]);
  const double share = real(call.product.share);
  return listed(0, 1.0, n, n * depth, np, np * depth, np * share, np * depth * share,
                n * real(call.window.field), cast_share(dots.cast, call, dots.workers));
}

Extents sizes(const WindowDots& /*dots*/, const TileCall& call) { return window_sizes(call); }

// --------------------------------------------------------------------------------- WindowLanes

int32_t leaves(const WindowLanes& lanes) {
  switch (lanes.kind) {
    case WindowKind::Vertical:
      return lanes.workers;
    case WindowKind::Sliding:
      return 2;
    case WindowKind::Pooling:
      return 1;
  }
  return 1;
}

template <class Sink>
void describe(const WindowLanes& lanes, const TileCall& call, Sink& sink) {
  const TileShape& shape = call.shape;
  const Field& field = call.field;
  if (too_many_channels(lanes, shape)) {
    return sink.none();
  }
  const Window& window = call.window;
  const double c = groups(shape) * real(steps(shape[TileDim::OutCh], lanes.lanes));
  const double p = real(window.positions);
  const double f = real(window.field);
  switch (lanes.kind) {
    case WindowKind::Vertical:
      return sink.piece(rest(window.field, lanes.workers), 1.0, c, c * p, c * f, c * f * p,
                        c * real(shape[TileDim::KernelH]));
    case WindowKind::Sliding: {
      const int64_t passes =
          shape[TileDim::KernelH] * steps(shape[TileDim::KernelW], kColumnsAtOnce);
      const double cb = c * real(passes);
      const double many = real(passes > kManyPasses);
      const int64_t leaf = shape.params[0] > 1 ? 1 : 0;
      return sink.piece(leaf, 1.0, c, cb, cb * field.runs, cb * field.elements, c * field.elements,
                        c * f, c * f * many);
    }
    case WindowKind::Pooling:
      return sink.piece(0, 1.0, c, field.elements, c * field.elements, c * field.elements * p,
                        field.elements * p, p, c * p, field.runs, field.runs * p, c * field.runs,
                        c * field.runs * p);
  }
  return sink.none();
}

Terms smooth(const WindowLanes& lanes, const TileCall& call) {
  const TileShape& shape = call.shape;
  if (too_many_channels(lanes, shape)) {
    return kNoTerms;
  }
  const bool sliding = lanes.kind == WindowKind::Sliding;
  const double c = groups(shape) * real(steps(shape[TileDim::OutCh], lanes.lanes));
  const double across = real(steps(shape[TileDim::KernelW], sliding ? kColumnsAtOnce : 1));
  const double p = real(shape[TileDim::KernelH]) * across;
  const double share = real(call.product.share);
  const double runs = row_share(call, lanes.workers);
  return listed(0, 1.0, c, p, c * p, share, c * share, p * share, c * p * share, runs, c * runs,
                p * runs, c * p * runs);
}

Extents sizes(const WindowLanes& /*lanes*/, const TileCall& call) { return window_sizes(call); }

template Terms features(const WindowBlocks&, const TileCall&);
template double cycles(const WindowBlocks&, const TileCall&, const double*, std::int32_t);
template bool within(const WindowBlocks&, const TileCall&, const Extents&);
template Terms features(const WindowDots&, const TileCall&);
template double cycles(const WindowDots&, const TileCall&, const double*, std::int32_t);
template bool within(const WindowDots&, const TileCall&, const Extents&);
template Terms features(const WindowLanes&, const TileCall&);
template double cycles(const WindowLanes&, const TileCall&, const double*, std::int32_t);
template bool within(const WindowLanes&, const TileCall&, const Extents&);

}  // namespace elk::tile::form
