#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "elk/base/rounding.hpp"
#include "elk/cost/front/search.hpp"
#include "elk/cost/front/vicinity.hpp"

/// What follows the look at the front's cuts where these are not all: the search near its members,
/// and that for the floor and the fastest plan, among all cuts of an op.
namespace elk::cost {
namespace {

constexpr std::size_t kMostNear = 2000;  // cuts looked at near the front
constexpr std::int64_t kSurveyed = 25;  // cuts and groups of a vast space, to one looked at closely

/// The slots, a bit each, that do not contain an axis.
std::uint64_t sharing_slots(std::span<const Slot> slots, std::size_t axis) {
  std::uint64_t mask = 0;
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    const bool contains = ((slots[slot].contained >> axis) & 1U) != 0;
    mask |= contains || slots[slot].write ? 0U : std::uint64_t{1} << slot;
  }
  return mask;
}

/// The axes by which slots do not contain them; those that all contain come last.
std::vector<ProductsOfAxes> kinds_of_axes(std::span<const Slot> slots, const Factors& factors,
                                          std::int64_t cores) {
  std::map<std::uint64_t, std::map<std::int64_t, std::int64_t>, std::greater<>> kinds;
  for (std::size_t axis = 0; axis < factors.size(); ++axis) {
    std::map<std::int64_t, std::int64_t>& kind = kinds[sharing_slots(slots, axis)];
    const auto before = kind.empty() ? std::map<std::int64_t, std::int64_t>{{1, 1}} : kind;
    kind.clear();
    for (const auto& [product, count] : before) {
      for (const std::int64_t factor : factors[axis]) {
        if (product * factor > cores) {
          break;
        }
        kind[product * factor] += count;
      }
    }
  }
  std::vector<ProductsOfAxes> result;
  result.reserve(kinds.size());
  for (const auto& [shared, kind] : kinds) {
    result.push_back({.shared = shared, .counts = {kind.begin(), kind.end()}});
  }
  return result;
}

}  // namespace

/// Looks at the cuts next to those of the front's members and of the fastest plan, then next to
/// those of the members that these bring, and so on.
void FrontSearch::refine() {
  Vicinity vicinity(all_factors_, factors_, cores_);
  for (std::size_t before = 1; before != vicinity.met();) {
    before = vicinity.met();
    std::vector<PlanFactors> from = members_.members();
    const std::vector<PlanFactors> prompt = prompt_members_.members();
    from.insert(from.end(), prompt.begin(), prompt.end());
    from.insert(from.end(), fastest_.begin(), fastest_.end());
    for (const PlanFactors& plan : from) {
      if (vicinity.met() >= kMostNear) {
        return;
      }
      for (const std::vector<std::int64_t>& cut : vicinity.around(plan.factors)) {
        look_at(cut);
      }
    }
  }
}

void FrontSearch::look_at(const std::vector<std::int64_t>& factors) {
  for (std::size_t axis = 0; axis < factors.size(); ++axis) {
    cut_by(axis, factors[axis]);
  }
  leaf();
}

/// Whether no plan under the cut is as fast as the fastest, or lowers the floor, if its tiles take
/// `compute` at least. What is not known yet of the cut stands at its least: uncut axes, no
/// reductions, every HBM byte once.
bool FrontSearch::changes_nothing(double compute) {
  if (!vast_ && compute * kRoundedDown <= least_time_) {
    return false;
  }
  pricer_.count_sharers(cut_);
  cut_.reduce = kNoExchange;
  return floor_.skips(cut_, compute);
}

/// Axes that are summed over first, then by the number of their factors: what decides about bytes
/// is then known early, and the longest list is the one that ends early.
std::vector<std::size_t> FrontSearch::survey_order() const {
  std::vector<std::size_t> order(all_factors_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const bool first = ((pricer_.summed() >> a) & 1U) != 0;
    const bool second = ((pricer_.summed() >> b) & 1U) != 0;
    return first != second ? first : all_factors_[a].size() < all_factors_[b].size();
  });
  return order;
}

/// Every cut, and in a vast space once more after a tile that beat the rates: what was left out by
/// them is looked at again, and what is known by now leaves out most of it.
void FrontSearch::survey_all() {
  do {
    sound_ = sound_ || vast_;
    surveyed_ = 0;
    looked_ = 0;
    for (std::size_t axis = 0; axis < all_factors_.size(); ++axis) {
      cut_by(axis, 1);
    }
    survey({.axes = 0, .product = 1, .rate = 0.0, .volume = rates_.volume(pricer_.size())});
  } while (vast_ && !sound_);
}

/// Every cut with the factors chosen for some axes, those in `before`, and any of the others.
void FrontSearch::survey(const FactorPrefix& before) {
  if (before.axes == order_.size()) {
    look(rates_.least(cut_.tile));
    return;
  }
  const std::size_t axis = order_[before.axes];
  const std::vector<std::int64_t>& factors = all_factors_[axis];
  const auto most = std::upper_bound(factors.begin(), factors.end(), cores_ / before.product);
  for (auto factor = most; factor != factors.begin() && (sound_ || vast_);) {
    --factor;
    cut_by(axis, *factor);
    const FactorPrefix here = extended(before, axis);
    const double compute = here.rate * here.volume / static_cast<double>(rest(here));
    if (changes_nothing(compute)) {
      continue;
    }
    ++surveyed_;
    if (vast_ && surveyed_ > kSurveyed * constraints_.looks) {
      floor_.assume(cut_, compute);
    } else {
      survey(here);
    }
  }
  cut_by(axis, 1);
}

/// `before` and the factor of `axis` in the cut.
FactorPrefix FrontSearch::extended(const FactorPrefix& before, std::size_t axis) const {
  const std::int64_t length = cut_.tile[axis];
  const double share = static_cast<double>(length) / static_cast<double>(op_.axes[axis].size);
  return {.axes = before.axes + 1,
          .product = before.product * cut_.factor[axis],
          .rate = std::max(before.rate, rates_.rate(axis, length)),
          .volume = before.volume * (rates_.counts(axis) ? share : 1.0)};
}

/// Pieces into which the axes not yet cut can cut a tile at most.
std::int64_t FrontSearch::rest(const FactorPrefix& before) const {
  std::int64_t most = 1;
  for (std::size_t i = before.axes; i < order_.size(); ++i) {
    most = std::min(cores_, most * all_factors_[order_[i]].back());
  }
  return std::min(most, cores_ / before.product);
}

void FrontSearch::look(double compute) {
  if (changes_nothing(compute)) {
    return;
  }
  time_whole();
  gained_ = rates_.gain(whole_) * whole_.time;
  compute = std::max(compute, gained_);
  if (changes_nothing(compute)) {
    return;
  }
  ++looked_;
  if (vast_ && looked_ > constraints_.looks) {
    floor_.assume(cut_, compute);
    return;
  }
  if (!arranged()) {
    return;
  }
  pricer_.measure(cut_);
  cut_.reduce = kNoExchange;
  static_cast<void>(least_compute());
  const Merits least = corner(compute);
  if (least.space > room_ || (least.time > least_time_ && floor_.skips(cut_, compute))) {
    return;
  }
  bound(compute);
  if (least_.time <= least_time_) {
    expand(false);
  }
}

/// Adds up the plans of the whole space, f_t along any dimensions included. What a cut shares among
/// cores depends on products of factors alone: of all axes that the same operands contain.
void FrontSearch::count_complete() {
  std::vector<ProductsOfAxes> kinds = kinds_of_axes(pricer_.slots(), all_factors_, cores_);
  cut_.held.resize(pricer_.slots().size());
  for (SlotPiece& held : cut_.held) {
    held.sharers = 1;
  }
  count_complete(kinds, 1, 1);
}

/// Counts plans with the factors of the axes before `kinds` chosen: `product` pieces, in `ways`
/// ways.
void FrontSearch::count_complete(std::span<const ProductsOfAxes> kinds, std::int64_t product,
                                 std::int64_t ways) {
  if (kinds.empty()) {
    counts_.complete =
        saturated_sum(counts_.complete, saturated_product(ways, turns_.complete(cut_)));
    return;
  }
  const std::vector<SlotPiece> before = cut_.held;
  std::int64_t sum = 0;
  for (const auto& [factor, count] : kinds.front().counts) {
    if (product * factor > cores_) {
      break;
    }
    sum += count;
    if (kinds.front().shared == 0) {
      continue;
    }
    for (std::size_t slot = 0; slot < before.size(); ++slot) {
      const bool shared = ((kinds.front().shared >> slot) & 1U) != 0;
      cut_.held[slot].sharers = before[slot].sharers * (shared ? factor : 1);
    }
    count_complete(kinds.subspan(1), product * factor, saturated_product(ways, count));
  }
  if (kinds.front().shared == 0) {  // The last kind: however often it is cut, nothing is shared.
    count_complete(kinds.subspan(1), product, saturated_product(ways, sum));
  }
  cut_.held = before;
}

}  // namespace elk::cost
