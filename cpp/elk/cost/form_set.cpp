#include "elk/cost/form_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "elk/cost/form_evaluate.hpp"

namespace elk::cost::form {
namespace {

using ir::TileDim;
using Mask = decltype(Pair{} < Pair{});

/// The position of `value` in `values`, put there if it is new.
std::size_t place_of(std::int32_t value, std::vector<std::int32_t>& values) {
  const auto found = std::find(values.begin(), values.end(), value);
  const auto place = static_cast<std::size_t>(found - values.begin());
  if (found == values.end()) {
    values.push_back(value);
  }
  return place;
}

template <class Counts>
Pair both(const Counts& counts, const std::array<std::size_t, 2>& places) {
  return Pair{counts[places[0]], counts[places[1]]};
}

/// The lesser of each, where `sum` is a time and `taken`. Without branches: which family takes a
/// tile follows no pattern.
Pair cheaper(Pair best, Pair sum, Mask taken) {
  return (taken & (sum > 0.0) & (sum < best)) ? sum : best;
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

/// The sums of `describe(Blocks)`, term by term in its order: the same to the last bit.
double ProductSet::cheapest(const Product& given, const Product& turned) const {
  const double group = real(given.group);
  const Pair q = {real(given.share), real(turned.share)};
  const Pair even = {real(given.even), real(turned.even)};
  const Casting casting =
      cast_ ? Casting(given.group * given.rows * given.columns, workers_) : Casting(0, 1);
  const std::ptrdiff_t width = cast_ ? 14 : 10;
  const Pair columns = {real(given.columns), real(turned.columns)};
  const Pair depth = Pair{} + real(given.depth);
  Pair best = Pair{} + std::numeric_limits<double>::infinity();
  for (const Family& family : families_) {
    const double* one = family.coefficients.data() + (row_piece(given) * width);
    const double* two = family.coefficients.data() + (row_piece(turned) * width);
    const auto c = [&](std::size_t i) { return Pair{one[i], two[i]}; };
    const std::int64_t deep = steps(given.depth, family.in_group);
    const double k = real(given.group * deep);
    const Pair n = {real(given.group * steps(given.columns, family.out_group)),
                    real(given.group * steps(turned.columns, family.out_group))};
    const Pair nk = n * real(deep);
    Pair sum = (c(0) + (nk * c(4))) + ((q * nk) * c(8));
    Pair b = (group * c(1)) + ((even * n) * c(5)) + ((q * k) * c(9));
    Pair d = (n * c(2)) + ((even * nk) * c(6));
    Pair e = (k * c(3)) + ((q * n) * c(7));
    if (cast_) {
      sum += casting.share * c(10);
      b += casting.one * c(11);
      d += casting.two * c(12);
      e += casting.three * c(13);
    }
    sum = (sum + b) + (d + e);
    best = cheaper(best, sum, (columns <= family.most_columns) & (depth <= family.most_depth));
  }
  return std::min(best[0], best[1]);
}

bool BlockSet::add(const WindowBlocks& blocks, const Domain& domain,
                   std::span<const double> coefficients) {
  if (!twins_.empty() && (blocks.cast != cast_ || blocks.workers != workers_)) {
    return false;
  }
  const std::size_t most = std::max({out_groups_.size(), in_groups_.size(), merges_.size()});
  if (most == kMostSteps || std::isinf(coefficients.front())) {
    return false;
  }
  cast_ = blocks.cast;
  workers_ = blocks.workers;
  const std::size_t lane = full_ ? 0 : 1;
  if (full_) {
    twins_.push_back(Twins{});
  }
  full_ = !full_;
  Twins& twins = twins_.back();
  twins.most_columns[lane] = real(domain.most_columns);
  twins.most_depth[lane] = real(domain.most_depth);
  twins.out[lane] = place_of(blocks.out_group, out_groups_);
  twins.in[lane] = place_of(blocks.in_group, in_groups_);
  twins.merged[lane] = place_of(blocks.rows_merged, merges_);
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    twins.coefficients[i][lane] = coefficients[i];
  }
  return true;
}

BlockSet::Counts BlockSet::count(std::int64_t amount, const Sizes& sizes) {
  Counts counts{};
  double* at = counts.data();
  for (const std::int32_t size : sizes) {
    *at++ = real(steps(amount, size));
  }
  return counts;
}

/// The sums of `describe(WindowBlocks)`, term by term in its order: the same to the last bit.
double BlockSet::cheapest(const TileCall& call) const {
  const TileShape& shape = call.shape;
  const Field& f = call.field;
  const Counts out = count(shape[TileDim::OutCh], out_groups_);
  const Counts in = count(shape[TileDim::InCh], in_groups_);
  const Counts merges = count(shape[TileDim::KernelH], merges_);
  const double groups = real(shape[TileDim::Group]);
  const double height = real(shape[TileDim::KernelH]);
  const double width = real(shape[TileDim::KernelW]);
  const double field = real(call.window.field);
  const double single = real(f.runs == 1.0);
  const Casting casting =
      cast_ ? Casting(shape[TileDim::Group] * call.window.field * shape[TileDim::OutCh], workers_)
            : Casting(0, 1);
  const Pair columns = Pair{} + real(call.product.columns);
  const Pair depth = Pair{} + real(call.product.depth);
  Pair best = Pair{} + std::numeric_limits<double>::infinity();
  for (const Twins& twins : twins_) {
    const auto& c = twins.coefficients;
    const Pair n = groups * both(out, twins.out);
    const Pair nk = n * both(in, twins.in);
    const Pair merged = both(merges, twins.merged);
    const Pair nkp = nk * merged * width;
    const Pair inner =
        c[4] + (f.runs * c[5]) + (f.elements * c[6]) + (f.ones * c[7]) + (f.twos * c[8]);
    Pair a = c[0] + (nk * (c[2] + (merged * c[3]))) + (nkp * inner) + ((n * field) * c[9]);
    Pair b = (n * c[1]) + ((nk * height) * c[10]);
    Pair d = (nkp * single) * c[11];
    Pair e = {0.0, 0.0};
    if (cast_) {
      a += casting.share * c[12];
      b += casting.one * c[13];
      d += casting.two * c[14];
      e += casting.three * c[15];
    }
    const Pair sum = (a + b) + (d + e);
    best = cheaper(best, sum, (columns <= twins.most_columns) & (depth <= twins.most_depth));
  }
  return std::min(best[0], best[1]);
}

}  // namespace elk::cost::form
