#include "elk/tile/form/evaluate.hpp"
#include "elk/tile/form/features.hpp"

namespace elk::tile::form {
namespace {

using std::int32_t;
using std::int64_t;

Extents product_sizes(const TileCall& call) {
  const Product& p = call.product;
  return {p.group, p.rows, p.columns, p.depth, 1, 1, 1, 1, 1};
}

/// Steps of the busiest worker that casts the results.
double cast_share(const Product& p, int32_t workers) {
  return real(steps(p.group * p.rows * p.columns, workers));
}

/// Features of all row counts together: n and nk for any count, and again for each short one.
template <class Sink>
void describe_shared(const Product& p, double n, double nk, Sink& sink) {
  const double q = real(p.share);
  const double even = real(p.even);
  sink.piece(0, 1.0, real(p.group), n, nk, q * n, q * nk, even * n, even * nk);
  for (int64_t share = 1; share < kRowPieces; ++share) {
    for (const bool full : {false, true}) {
      const double mine = real(p.share == share && p.even == full);
      sink.more(mine * n, mine * nk);
    }
  }
}

}  // namespace

int32_t leaves(const Blocks& blocks) { return blocks.shared ? 1 : kRowPieces; }

template <class Sink>
void describe(const Blocks& blocks, const TileCall& call, Sink& sink) {
  if (blocks.window && !is_flat(call.shape)) {
    return sink.none();
  }
  const Product& p = call.product;
  const double n = real(p.group * steps(p.columns, blocks.out_group));
  const int64_t deep = steps(p.depth, blocks.in_group);
  const double k = real(p.group * deep);
  const double nk = n * real(deep);
  const double q = real(p.share);
  const double even = p.even ? 1.0 : 0.0;
  if (blocks.shared) {
    describe_shared(p, n, nk, sink);
  } else {
    sink.piece(row_piece(p), 1.0, real(p.group), n, k, nk, even * n, even * nk, q * n, q * nk,
               q * k);
  }
  if (blocks.cast) {
    describe(Casting(p.group * p.rows * p.columns, blocks.workers), sink);
  }
}

/// Short loops cost more a row than long ones: steps at two and three rows a worker, never down.
Terms smooth(const Blocks& blocks, const TileCall& call) {
  if (blocks.window && !is_flat(call.shape)) {
    return kNoTerms;
  }
  const Product& p = call.product;
  const double n = real(p.group * steps(p.columns, blocks.out_group));
  const double k = real(p.group * steps(p.depth, blocks.in_group));
  const double nk = n * real(steps(p.depth, blocks.in_group));
  const double q = real(p.share);
  return listed(0, 1.0, real(p.group), n, k, nk, q * n, q * nk, real(p.share > 1) * nk,
                real(p.share > 2) * nk, blocks.cast ? cast_share(p, blocks.workers) : 0.0);
}

Extents sizes(const Blocks& /*blocks*/, const TileCall& call) { return product_sizes(call); }

int32_t leaves(const Dots& dots) { return dots.aligned ? kRowPieces : 1; }

template <class Sink>
void describe(const Dots& dots, const TileCall& call, Sink& sink) {
  const Product& p = call.product;
  auto [count, length] = call.chunks;
  if (dots.aligned ? count == 0 : count == 1) {
    return sink.none();
  }
  if (!dots.aligned) {
    count = 1;
    length = steps(p.depth, dots.granule) * dots.granule;
  }
  const double g = real(p.group);
  const double n = g * real(steps(p.columns, dots.out_group));
  const double c = real(count);
  const double q = real(p.share);
  const double even = p.even ? n * c : 0.0;
  const int64_t leaf = dots.aligned ? row_piece(p) : 0;
  sink.piece(leaf, 1.0, g, g * c, n, n * c, n * q, n * c * q, n * c * q * real(length), even);
  if (dots.cast) {
    describe(Casting(p.group * p.rows * p.columns, dots.workers), sink);
  }
}

Terms smooth(const Dots& dots, const TileCall& call) {
  const Product& p = call.product;
  const double n = real(p.group * steps(p.columns, dots.out_group));
  const double q = real(p.share);
  return listed(0, 1.0, real(p.group), n, n * q, n * q * real(p.depth),
                dots.cast ? cast_share(p, dots.workers) : 0.0);
}

Extents sizes(const Dots& /*dots*/, const TileCall& call) { return product_sizes(call); }

int32_t leaves(const OuterProduct& /*outer*/) { return 1; }

template <class Sink>
void describe(const OuterProduct& outer, const TileCall& call, Sink& sink) {
  const Product& p = call.product;
  if (p.depth != 1) {
    return sink.none();
  }
  const double n = real(p.group * steps(p.columns, outer.out_group));
  const double q = real(p.share);
  return sink.piece(0, 1.0, q, n, q * n);
}

Terms smooth(const OuterProduct& outer, const TileCall& call) {
  const Product& p = call.product;
  if (p.depth != 1) {
    return kNoTerms;
  }
  const double n = real(p.group * steps(p.columns, outer.out_group));
  const double q = real(p.share);
  return listed(0, 1.0, q, n, q * n);
}

Extents sizes(const OuterProduct& /*outer*/, const TileCall& call) { return product_sizes(call); }

template Terms features(const Blocks&, const TileCall&);
template double cycles(const Blocks&, const TileCall&, const double*, std::int32_t);
template bool within(const Blocks&, const TileCall&, const Extents&);
template Terms features(const Dots&, const TileCall&);
template double cycles(const Dots&, const TileCall&, const double*, std::int32_t);
template bool within(const Dots&, const TileCall&, const Extents&);
template Terms features(const OuterProduct&, const TileCall&);
template double cycles(const OuterProduct&, const TileCall&, const double*, std::int32_t);
template bool within(const OuterProduct&, const TileCall&, const Extents&);

}  // namespace elk::tile::form
