#include <algorithm>

#include "elk/cost/search.hpp"
#include "elk/cost/vicinity.hpp"

/// What follows the look at the front's cuts where these are not all: the search near its members,
/// and that for the floor and the fastest plan, among all cuts of an op.
namespace elk::cost {
namespace {

constexpr std::size_t kMostNear = 3000;    // cuts looked at near the front
constexpr double kRounding = 1.0 - 1e-12;  // Keeps a sum in another order a lower bound.

}  // namespace

/// Looks at the cuts next to those of the front's members and of the fastest plan, then next to
/// those of the members that these bring, and so on.
void Search::refine() {
  Vicinity vicinity(all_factors_, factors_, cores_);
  for (std::size_t before = 1; before != vicinity.met();) {
    before = vicinity.met();
    std::vector<Candidate> from = members_.members();
    const std::vector<Candidate> prompt = prompt_members_.members();
    from.insert(from.end(), prompt.begin(), prompt.end());
    from.insert(from.end(), fastest_.begin(), fastest_.end());
    for (const Candidate& plan : from) {
      if (vicinity.met() >= kMostNear) {
        return;
      }
      for (const std::vector<std::int64_t>& cut : vicinity.around(plan.factors)) {
        look_at(cut);
      }
    }
  }
}

void Search::look_at(const std::vector<std::int64_t>& factors) {
  for (std::size_t axis = 0; axis < factors.size(); ++axis) {
    cut_by(axis, factors[axis]);
  }
  leaf();
}

/// Of tiles whose padded volume is spread over all cores.
double Search::least_volume() const {
  return rates_.volume(pricer_.size()) / static_cast<double>(cores_);
}

/// Whether no plan under the cut is as fast as the fastest, or lowers the floor, if its tiles take
/// `compute` at least. What is not known yet of the cut stands at its least: uncut axes, no
/// reductions, every HBM byte once.
bool Search::changes_nothing(double compute) {
  if (!vast_ && compute * kRounding <= least_time_) {
    return false;
  }
  pricer_.count_sharers(cut_);
  cut_.reduce = {.time = {0.0}, .bytes = {0}, .wire = {0.0}};
  return floor_.skips(cut_, compute);
}

/// Every cut with the factors chosen for the axes before `axis`, which make `product` pieces. In a
/// vast space, the cuts that begin with the same factors of the first axes enter the floor
/// together, as if they received no more than these bring.
void Search::survey(std::size_t axis, std::int64_t product, const Prefix& before) {
  if (axis == all_factors_.size()) {
    look(rates_.least(cut_.tile));
    return;
  }
  if (axis == depth_) {
    floor_.assume(cut_, before.rate * before.volume);
    return;
  }
  const std::int64_t size = op_.axes[axis].size;
  for (const std::int64_t factor : all_factors_[axis]) {
    if (product * factor > cores_ || !(sound_ || vast_)) {
      break;
    }
    cut_by(axis, factor);
    const auto padded = static_cast<double>(factor * cut_.tile[axis]);
    const Prefix here{
        .rate = std::max(before.rate, rates_.rate(axis, cut_.tile[axis])),
        .volume = before.volume * (rates_.counts(axis) ? padded / static_cast<double>(size) : 1.0)};
    if (!changes_nothing(here.rate * here.volume)) {
      survey(axis + 1, product * factor, here);
    }
  }
  cut_by(axis, 1);
}

void Search::look(double compute) {
  if (changes_nothing(compute)) {
    return;
  }
  compute = std::max(compute, rates_.gain() * pricer_.tiles().sub_task(cut_.tile));
  if (changes_nothing(compute) || !arranged()) {
    return;
  }
  pricer_.measure(cut_);
  cut_.reduce = {.time = {0.0}, .bytes = {0}, .wire = {0.0}};
  static_cast<void>(least_compute());
  const Point least = corner(compute);
  if (least.space > room_ || (least.time > least_time_ && floor_.skips(cut_, compute))) {
    return;
  }
  bound(compute);
  if (least_.time <= least_time_) {
    expand(false);
  }
}

/// Adds up the plans of the whole space, f_t along any dimensions included.
void Search::count_complete(std::size_t axis, std::int64_t product) {
  if (axis == all_factors_.size()) {
    pricer_.count_sharers(cut_);
    counts_.complete = saturated_sum(counts_.complete, turns_.complete(cut_));
    return;
  }
  for (const std::int64_t factor : all_factors_[axis]) {
    if (product * factor > cores_) {
      break;
    }
    cut_.factor[axis] = factor;
    count_complete(axis + 1, product * factor);
  }
}

}  // namespace elk::cost
