#include "elk/cost/floor/cuts_below.hpp"

#include <algorithm>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"

namespace elk::cost {

CutsBelow::CutsBelow(Pricer& pricer, tile::TileRates& rates, double limit)
    : pricer_(pricer),
      rates_(rates),
      limit_(limit),
      cores_(chip::total_cores(pricer.chip())),
      factors_(all_factors(pricer.op(), cores_)),
      turns_(pricer, cores_),
      floor_(pricer, rates, cores_, false),
      cut_(uncut(factors_.size())) {}

void CutsBelow::each(const Look& look) {
  visit({.axes = 0, .product = 1, .rate = 0.0, .volume = rates_.volume(pricer_.size())}, look);
}

/// Every cut with the factors of `before`, the axes after these in any way.
void CutsBelow::visit(const FactorPrefix& before, const Look& look) {
  if (before.axes == factors_.size()) {
    arrive(before.rate * before.volume, look);
    return;
  }
  const auto axis = id_at<AxisId>(before.axes);
  const std::int64_t size = pricer_.op().axes[axis].size;
  for (const std::int64_t factor : factors_[axis]) {
    if (before.product * factor > cores_) {
      break;
    }
    const std::int64_t length = ceil_div(size, factor);
    const double share = static_cast<double>(length) / static_cast<double>(size);
    const FactorPrefix here{.axes = before.axes + 1,
                            .product = before.product * factor,
                            .rate = std::max(before.rate, rates_.rate(axis, length)),
                            .volume = before.volume * (rates_.counts(axis) ? share : 1.0)};
    cut_.factor[axis] = factor;
    cut_.tile[axis] = length;
    if (may_take_less(here)) {
      visit(here, look);
    }
  }
  cut_.factor[axis] = 1;
  cut_.tile[axis] = size;
}

/// Whether a cut with these factors may take less than the limit. What is not known of it yet
/// stands at its least: the axes uncut so far share and sum nothing.
bool CutsBelow::may_take_less(const FactorPrefix& here) {
  const std::int64_t pieces = cores_ / here.product;  // of the tile that others can cut
  const double compute = here.rate * here.volume / static_cast<double>(pieces);
  if (compute >= limit_) {
    return false;
  }
  pricer_.count_sharers(cut_);
  cut_.reduce = kNoExchange;
  return floor_.ports(cut_, compute) < limit_;
}

/// `compute`: what the tiles of the cut in hand take at least.
void CutsBelow::arrive(double compute, const Look& look) {
  pricer_.count_sharers(cut_);
  cut_.reduce = kNoExchange;
  if (floor_.ports(cut_, compute) >= limit_) {
    return;
  }
  if (pricer_.fabric().grid() && !pricer_.arrange(cut_)) {
    return;
  }
  pricer_.measure(cut_);
  const tile::TileTime whole{
      .time = pricer_.tiles().sub_task(cut_.tile),
      .beyond = rates_.tells_beyond() && pricer_.tiles().extrapolated(cut_.tile)};
  if (rates_.gain(whole) * whole.time >= limit_) {
    return;
  }
  pricer_.reduce(cut_);
  look(cut_, whole);
}

}  // namespace elk::cost
