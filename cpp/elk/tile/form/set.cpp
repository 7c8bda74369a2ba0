#include "elk/tile/form/set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace elk::tile::form {
namespace {

using ir::TileDim;
using Mask = decltype(Pair{} < Pair{});

constexpr Pair kZero = {0.0, 0.0};
constexpr Pair kInfinite = kZero + std::numeric_limits<double>::infinity();

/// The lesser of each, where `sum` is a time and `taken`. Without branches: which family takes a
/// tile follows no pattern.
Pair cheaper(Pair best, Pair sum, Mask taken) {
  return (taken & (sum > 0.0) & (sum < best)) ? sum : best;
}

/// The sizes of two products as `describe(Blocks)` has them: rows of a worker, blocks out and in,
/// and both.
struct BlockSizes {
  double group;
  Pair q;
  Pair even;
  Pair n;
  Pair k;
  Pair nk;
};

/// The sums of `describe(Blocks)`, term by term in its order: the same to the last bit. `c` gives
/// the coefficients.
template <class Coefficients>
Pair block_cycles(const BlockSizes& of, const Casting* casting, const Coefficients& c) {
  Pair sum = (c(0) + (of.nk * c(4))) + ((of.q * of.nk) * c(8));
  Pair b = (of.group * c(1)) + ((of.even * of.n) * c(5)) + ((of.q * of.k) * c(9));
  Pair d = (of.n * c(2)) + ((of.even * of.nk) * c(6));
  Pair e = (of.k * c(3)) + ((of.q * of.n) * c(7));
  if (casting != nullptr) {
    sum += casting->share * c(10);
    b += casting->one * c(11);
    d += casting->two * c(12);
    e += casting->three * c(13);
  }
  return (sum + b) + (d + e);
}

/// Puts a family beside the last one, or first of two.
template <std::size_t kPieces, std::size_t kFeatures>
void append(std::vector<Twins<kPieces, kFeatures>>& list, const Domain& domain,
            const std::array<std::int32_t, 3>& sizes, std::span<const double> coefficients) {
  const bool second = !list.empty() && list.back().most_columns[1] == 0.0;
  if (!second) {
    list.emplace_back();
  }
  const std::size_t at = second ? 1 : 0;
  auto& twins = list.back();
  twins.most_columns[at] = real(domain.most_columns);
  twins.most_depth[at] = real(domain.most_depth);
  twins.out.set(at, sizes[0]);
  twins.in.set(at, sizes[1]);
  twins.merged.set(at, sizes[2]);
  const std::size_t features = coefficients.size() / kPieces;
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    twins.coefficients[i / features][i % features][at] = coefficients[i];
  }
}

}  // namespace

bool ProductSet::add(const Blocks& blocks, const Domain& domain,
                     std::span<const double> coefficients) {
  const bool first = families_.empty();
  if (blocks.window || blocks.shared ||
      (!first && (blocks.cast != cast_ || blocks.workers != workers_))) {
    return false;
  }
  cast_ = blocks.cast;
  workers_ = blocks.workers;
  families_.push_back({.most_columns = real(domain.most_columns),
                       .most_depth = real(domain.most_depth),
                       .in_group = blocks.in_group,
                       .out_group = blocks.out_group,
                       .coefficients = {coefficients.begin(), coefficients.end()}});
  return true;
}

double ProductSet::cheapest(const Product& given, const Product& turned) const {
  const Casting casting =
      cast_ ? Casting(given.group * given.rows * given.columns, workers_) : Casting(0, 1);
  const std::ptrdiff_t width = cast_ ? 14 : 10;
  const Pair columns = {real(given.columns), real(turned.columns)};
  const Pair depth = kZero + real(given.depth);
  BlockSizes sizes{.group = real(given.group),
                   .q = {real(given.share), real(turned.share)},
                   .even = {real(given.even), real(turned.even)},
                   .n = {},
                   .k = {},
                   .nk = {}};
  Pair best = kInfinite;
  for (const ProductFamily& family : families_) {
    const double* one = family.coefficients.data() + (row_piece(given) * width);
    const double* two = family.coefficients.data() + (row_piece(turned) * width);
    const std::int64_t deep = steps(given.depth, family.in_group);
    sizes.n = Pair{real(given.group * steps(given.columns, family.out_group)),
                   real(given.group * steps(turned.columns, family.out_group))};
    sizes.k = kZero + real(given.group * deep);
    sizes.nk = sizes.n * real(deep);
    const Pair sum = block_cycles(sizes, cast_ ? &casting : nullptr,
                                  [&](std::size_t i) { return Pair{one[i], two[i]}; });
    best = cheaper(best, sum, (columns <= family.most_columns) & (depth <= family.most_depth));
  }
  return std::min(best[0], best[1]);
}

bool WindowSet::agrees(std::int32_t workers, bool cast) {
  if (!empty() && (cast != cast_ || workers != workers_)) {
    return false;
  }
  cast_ = cast;
  workers_ = workers;
  return true;
}

bool WindowSet::add(const WindowBlocks& blocks, const Domain& domain,
                    std::span<const double> coefficients) {
  if (std::isinf(coefficients.front()) || !agrees(blocks.workers, blocks.cast)) {
    return false;
  }
  append(windows_, domain, {blocks.out_group, blocks.in_group, blocks.rows_merged}, coefficients);
  return true;
}

bool WindowSet::add(const Blocks& blocks, const Domain& domain,
                    std::span<const double> coefficients) {
  if (!blocks.window || blocks.shared || !agrees(blocks.workers, blocks.cast)) {
    return false;
  }
  append(flats_, domain, {blocks.out_group, blocks.in_group, 1}, coefficients);
  return true;
}

/// The sums of `describe(WindowBlocks)`, term by term in its order: the same to the last bit.
Pair WindowSet::cheapest_window(const TileCall& call, const Casting& casting) const {
  const TileShape& shape = call.shape;
  const Field& f = call.field;
  const double groups = real(shape[TileDim::Group]);
  const double height = real(shape[TileDim::KernelH]);
  const double width = real(shape[TileDim::KernelW]);
  const double field = real(call.window.field);
  const double single = real(f.runs == 1.0);
  const Pair columns = kZero + real(call.product.columns);
  const Pair depth = kZero + real(call.product.depth);
  Pair best = kInfinite;
  for (const WindowTwins& twins : windows_) {
    const auto& c = twins.coefficients.front();
    const Pair n = groups * twins.out.of(shape[TileDim::OutCh]);
    const Pair nk = n * twins.in.of(shape[TileDim::InCh]);
    const Pair merged = twins.merged.of(shape[TileDim::KernelH]);
    const Pair nkp = nk * merged * width;
    const Pair inner =
        c[4] + (f.runs * c[5]) + (f.elements * c[6]) + (f.ones * c[7]) + (f.twos * c[8]);
    Pair a = c[0] + (nk * (c[2] + (merged * c[3]))) + (nkp * inner) + ((n * field) * c[9]);
    Pair b = (n * c[1]) + ((nk * height) * c[10]);
    Pair d = (nkp * single) * c[11];
    Pair e = kZero;
    if (cast_) {
      a += casting.share * c[12];
      b += casting.one * c[13];
      d += casting.two * c[14];
      e += casting.three * c[15];
    }
    const Pair sum = (a + b) + (d + e);
    best = cheaper(best, sum, (columns <= twins.most_columns) & (depth <= twins.most_depth));
  }
  return best;
}

Pair WindowSet::cheapest_flat(const TileCall& call, const Casting& casting) const {
  const Product& product = call.product;
  const auto piece = static_cast<std::size_t>(row_piece(product));
  const Pair columns = kZero + real(product.columns);
  const Pair depth = kZero + real(product.depth);
  BlockSizes sizes{.group = real(product.group),
                   .q = kZero + real(product.share),
                   .even = kZero + real(product.even),
                   .n = {},
                   .k = {},
                   .nk = {}};
  Pair best = kInfinite;
  for (const FlatTwins& twins : flats_) {
    const Pair deep = twins.in.of(product.depth);
    sizes.n = sizes.group * twins.out.of(product.columns);
    sizes.k = sizes.group * deep;
    sizes.nk = sizes.n * deep;
    const auto& coefficients = twins.coefficients[piece];
    const Pair sum = block_cycles(sizes, cast_ ? &casting : nullptr,
                                  [&](std::size_t i) { return coefficients[i]; });
    best = cheaper(best, sum, (columns <= twins.most_columns) & (depth <= twins.most_depth));
  }
  return best;
}

double WindowSet::cheapest(const TileCall& call) const {
  const Casting casting = cast_ ? window_casting(call, workers_) : Casting(0, 1);
  Pair best = cheapest_window(call, casting);
  if (!flats_.empty() && is_flat(call.shape)) {
    const Pair flat = cheapest_flat(call, casting);
    best = flat < best ? flat : best;
  }
  return std::min(best[0], best[1]);
}

}  // namespace elk::tile::form
