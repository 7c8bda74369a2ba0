#include "elk/cost/search.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "elk/base/rounding.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/plan.hpp"

namespace elk::cost {
namespace {

constexpr double kManyCores = 0.85;
constexpr std::size_t kManyCuts = 2048;  // from which a front is thinned
constexpr double kRounding = 1.0 - 1e-12;            // Keeps a sum in another order a lower bound.
constexpr std::int64_t kMostCombinations = 1 << 16;  // of turns under one cut

std::vector<std::vector<std::int64_t>> axis_factors(const ir::Op& op, std::int64_t cores) {
  std::vector<std::vector<std::int64_t>> result;
  for (std::size_t axis = 0; axis < op.axes.size(); ++axis) {
    const bool divisible = partition::divisible(op, static_cast<std::int32_t>(axis));
    result.push_back(partition::distinct_factors(op.axes[axis].size, divisible ? cores : 1));
  }
  return result;
}

/// Thinning is for spaces that no one counts out by hand.
double slack(const std::vector<std::vector<std::int64_t>>& factors,
             const Constraints& constraints) {
  std::size_t cuts = 1;
  for (const std::vector<std::int64_t>& axis : factors) {
    cuts *= axis.size();
  }
  return cuts >= kManyCuts ? constraints.thinning : 0.0;
}

std::int64_t saturated(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return a > kMost - b ? kMost : a + b;
}

}  // namespace

Search::Search(Pricer& pricer, const Rates& rates, const Constraints& constraints)
    : pricer_(pricer),
      rates_(rates),
      op_(pricer.op()),
      chip_(pricer.chip()),
      constraints_(constraints),
      room_(chip::room(chip_).value),
      cores_(chip::total_cores(chip_)),
      factors_(axis_factors(op_, cores_)),
      turns_(pricer, cores_),
      floor_(op_, pricer, rates, cores_),
      cut_{.factor = std::vector<std::int64_t>(op_.axes.size(), 1),
           .tile = std::vector<std::int64_t>(op_.axes.size(), 1),
           .order = {},
           .mesh_dims = std::vector<std::int32_t>(op_.axes.size(), -1),
           .held = {},
           .cores = 1,
           .result = 0,
           .result_wide = 0,
           .reduce = {.time = {0.0}, .bytes = {0}, .wire = {0.0}},
           .tree = false,
           .wide = false,
           .chip_hbm = 0},
      least_(),
      choice_(pricer.reads()),
      at_(pricer.reads()),
      motion_(),
      archive_(pricer.least_hbm()),
      slack_(slack(factors_, constraints)),
      least_time_(std::numeric_limits<double>::infinity()),
      smallest_(std::numeric_limits<std::int64_t>::max()),
      counts_{.complete = 0, .filtered = 0, .pareto = 0} {}

/// Cuts into many pieces come first: what they reach excludes most of the others.
bool Search::run() {
  const auto many = static_cast<std::int64_t>(kManyCores * static_cast<double>(cores_));
  visit(0, {.begin = many + 1, .end = cores_ + 1}, 1);
  visit(0, {.begin = 1, .end = many + 1}, 1);
  return sound_;
}

/// Every cut whose factors from `axis` on bring `product` to a number of cores within `cores`.
void Search::visit(std::size_t axis, const elk::Interval<std::int64_t>& cores,
                   std::int64_t product) {
  if (axis == factors_.size()) {
    if (cores.contains(product)) {
      leaf();
    }
    return;
  }
  for (const std::int64_t factor : factors_[axis]) {
    if (product * factor >= cores.end || !sound_) {
      break;
    }
    cut_.factor[axis] = factor;
    cut_.tile[axis] = ceil_div(op_.axes[axis].size, factor);
    visit(axis + 1, cores, product * factor);
  }
}

/// Whether some member covers every plan that needs at least what `corner` does; in a thinned front,
/// up to the thinning in space, exchange and time.
bool Search::excluded(const Point& corner) const {
  if (slack_ <= 0.0) {
    return archive_.excludes(corner);
  }
  const auto loose = [&](std::int64_t value) {
    return static_cast<std::int64_t>(static_cast<double>(value) * (1.0 + slack_));
  };
  return archive_.excludes({.space = loose(corner.space),
                            .exchange = loose(corner.exchange),
                            .hbm = corner.hbm,
                            .time = corner.time * (1.0 + slack_)});
}

/// Whether the cut passes the constraints of the user.
bool Search::allowed() const {
  const double share = static_cast<double>(cut_.cores) / static_cast<double>(cores_);
  if (share < constraints_.min_core_share) {
    return false;
  }
  if (constraints_.max_padding <= 0.0) {
    return true;
  }
  for (const Slot& slot : pricer_.slots()) {
    double padding = 1.0;
    for (std::size_t axis = 0; axis < op_.axes.size(); ++axis) {
      if (((slot.contained >> axis) & 1U) != 0) {
        padding *= static_cast<double>(cut_.factor[axis] * cut_.tile[axis]) /
                   static_cast<double>(op_.axes[axis].size);
      }
    }
    if (padding > constraints_.max_padding) {
      return false;
    }
  }
  return true;
}

/// The least that any plan under the cut needs. However an operand is split over time, its gather
/// and shifts together bring all of it, and its partitions are no smaller than its sharers allow.
Point Search::corner(double compute) const {
  Point least{.space = std::min(cut_.result, cut_.result_wide),
              .exchange = cut_.reduce.bytes.value,
              .hbm = cut_.chip_hbm,
              .time = compute + cut_.reduce.time.value};
  std::int64_t gathered = 0;
  for (std::size_t slot = 0; slot < pricer_.reads(); ++slot) {
    const Held& held = cut_.held[slot];
    const std::int64_t bits = pricer_.slots()[slot].bits;
    const std::int64_t bytes = partition::element_bytes(held.elements, bits).value;
    least.space += bytes / held.sharers;
    gathered += pricer_.slots()[slot].hbm ? 0 : bytes;
  }
  least.exchange += gathered;
  if (gathered > 0) {
    least.time += pricer_.fabric().sync(false).value;
    if (!pricer_.fabric().grid() && !chip_.interconnect.overlaps_compute) {
      least.time += static_cast<double>(gathered) / chip_.interconnect.link_rate;
    }
  }
  least.time *= kRounding;
  return least;
}

void Search::count_space(std::int64_t least, bool allowed) {
  if (least > room_ && least >= smallest_) {
    return;
  }
  std::int64_t most = std::max(cut_.result, cut_.result_wide);
  for (std::size_t slot = 0; slot < pricer_.reads(); ++slot) {
    most += partition::aligned(
                partition::element_bytes(cut_.held[slot].elements, pricer_.slots()[slot].bits))
                .value;
  }
  const bool all_fit = most <= room_;
  if (least < smallest_ || (allowed && !all_fit)) {
    turns_.build(cut_);
    smallest_ = std::min(smallest_, turns_.least_space(cut_));
  }
  if (allowed) {
    counts_.filtered =
        saturated(counts_.filtered, all_fit ? turns_.distinct(cut_) : turns_.fitting(cut_, room_));
  }
}

void Search::leaf() {
  const bool grid = pricer_.fabric().grid();
  if ((grid || pricer_.fabric().chips() > 1) && !pricer_.arrange(cut_)) {
    return;
  }
  pricer_.measure(cut_);
  counts_.complete = saturated(counts_.complete, turns_.complete(cut_));
  const bool passes = allowed();
  cut_.reduce = {.time = {0.0}, .bytes = {0}, .wire = {0.0}};
  cut_rate_ = rates_.rate(cut_.tile);
  cut_volume_ = rates_.volume(cut_.tile);
  const double compute = cut_rate_ * cut_volume_;
  const Point before = corner(compute);
  count_space(before.space, passes);
  if (before.space > room_) {
    return;
  }
  pricer_.reduce(cut_);
  pricer_.cross(cut_);
  sound_ = floor_.add(cut_, turns_) && sound_;
  least_ = corner(compute);
  if ((passes && !excluded(least_)) || least_.time <= least_time_) {
    expand(passes);
  }
}

void Search::expand(bool allowed) {
  turns_.build(cut_);
  turns_.coarsen(kMostCombinations);
  std::vector<std::size_t>& at = at_;
  std::fill(at.begin(), at.end(), std::size_t{0});
  for (bool more = true; more;) {
    for (std::size_t slot = 0; slot < choice_.size(); ++slot) {
      choice_[slot] = &turns_.of(slot)[at[slot]];
    }
    if (!hopeless(allowed)) {
      weigh(allowed);
    }
    more = false;
    for (std::size_t slot = at.size(); slot-- > 0 && !more;) {
      more = ++at[slot] < turns_.of(slot).size();
      at[slot] = more ? at[slot] : 0;
    }
  }
}

/// Seconds that the shifts of the chosen turns take at least: they bring what the partitions leave
/// out, and each pays a sync. A tensor shifts after every step of its own loops but the last; the
/// one on the innermost loop after every step of all.
double Search::least_shifts(std::int64_t bytes) const {
  if (chip_.interconnect.overlaps_compute) {
    return 0.0;
  }
  std::int64_t all = 1;
  std::int64_t sum = 0;
  std::int64_t most = 0;
  for (std::size_t slot = 0; slot < choice_.size(); ++slot) {
    const Turn& turn = *choice_[slot];
    if (turn.spins > 0) {
      sum += turn.steps - 1;
      most = std::max(most, turn.steps - 1);
      all = shares_axis(slot) ? std::max(all, turn.steps) : all * turn.steps;
    }
  }
  const double syncs = static_cast<double>(sum - most + std::max(all - 1, most));
  const double wire =
      pricer_.fabric().grid() ? 0.0 : static_cast<double>(bytes) / chip_.interconnect.link_rate;
  return (syncs * pricer_.fabric().sync(false).value) + wire;
}

/// Whether an earlier turn rotates along an axis of this one.
bool Search::shares_axis(std::size_t slot) const {
  const Turn& turn = *choice_[slot];
  for (std::size_t other = 0; other < slot; ++other) {
    for (std::size_t i = 0; i < choice_[other]->spins; ++i) {
      for (std::size_t k = 0; k < turn.spins; ++k) {
        if (choice_[other]->spin[i].axis == turn.spin[k].axis) {
          return true;
        }
      }
    }
  }
  return false;
}

/// Whether the chosen turns cannot lead to a plan worth keeping, before their loops are known. No
/// sub-task is longer than a partition.
bool Search::hopeless(bool allowed) const {
  Point point = least_;
  point.space = std::min(cut_.result, cut_.result_wide);
  double rate = cut_rate_;
  std::int64_t more = 0;
  for (const Turn* turn : choice_) {
    point.space += turn->space;
    more += turn->more_bytes;
    for (std::size_t i = 0; i < turn->spins; ++i) {
      const auto axis = static_cast<std::size_t>(turn->spin[i].axis);
      rate = std::max(rate, rates_.rate(axis, turn->spin[i].length));
    }
  }
  if (point.space > room_) {
    return true;
  }
  point.exchange += more;
  point.time += kRounding * (least_shifts(more) + ((rate - cut_rate_) * cut_volume_));
  return point.time > least_time_ && (!allowed || excluded(point));
}

/// Prices the chosen turns, and keeps the plan if it is worth it.
void Search::weigh(bool allowed) {
  pricer_.move(cut_, choice_, {.pace = {}, .order = {}}, motion_);
  if (motion_.space > room_) {
    return;
  }
  const double least = static_cast<double>(motion_.steps) *
                       rates_.least(std::span(motion_.sub_task.data(), op_.axes.size()));
  Point point{.space = motion_.space,
              .exchange = motion_.exchange,
              .hbm = cut_.chip_hbm,
              .time = motion_.gather.time.value + cut_.reduce.time.value + least};
  if (!chip_.interconnect.overlaps_compute) {
    point.time += motion_.shift.time.value;
  }
  point.time *= kRounding;
  const bool covered = !allowed || excluded(point);
  if (covered && point.time > least_time_) {
    return;
  }
  const double compute = pricer_.compute(motion_);
  sound_ = sound_ && compute >= least * kRounding;
  point.time = pricer_.time(cut_, motion_, compute);
  compete(point.time);
  if (!covered) {
    keep(point);
  }
}

void Search::keep(const Point& point) {
  std::size_t id = 0;
  const Archive::Place place = archive_.add(point, id);
  if (place == Archive::Place::New) {
    plans_.push_back(candidate());
  } else if (place == Archive::Place::Equal) {
    plans_[id] = std::min(plans_[id], candidate());
  }
}

/// Bytes a core at the smallest preload state.
std::int64_t Search::preload_space(const Candidate& plan) const {
  std::int64_t sum = 0;
  for (const Turn* turn : choice_) {
    const Slot& slot = pricer_.slots()[turn->slot];
    if (!slot.hbm) {
      continue;
    }
    std::int64_t divisor = cut_.held[turn->slot].sharers / turn->parts;
    if (cut_.wide) {
      const auto whole =
          partition::complete_plan(pricer_.graph(), op_, plan.factors, plan.temporal, chip_);
      divisor =
          partition::sharing(pricer_.graph(), op_, slot.operand, *whole, chip_).divisors.back();
    }
    sum += partition::preload_piece({turn->space}, divisor).value;
  }
  return sum;
}

/// The fastest plan; ties: the smallest preload, then the lesser factors (design 6.5).
void Search::compete(double time) {
  if (time > least_time_) {
    return;
  }
  Candidate plan = candidate();
  const std::int64_t preload = preload_space(plan);
  if (time < least_time_ || preload < fastest_preload_ ||
      (preload == fastest_preload_ && plan < fastest_.front())) {
    least_time_ = time;
    fastest_preload_ = preload;
    fastest_.assign(1, std::move(plan));
  }
}

Candidate Search::candidate() const {
  Candidate result{.factors = cut_.factor,
                   .temporal = std::vector<std::vector<std::int64_t>>(op_.operands.size())};
  for (std::size_t i = 0; i < op_.operands.size(); ++i) {
    const std::size_t first = partition::first_like(op_, i);
    for (const Turn* turn : choice_) {
      if (pricer_.slots()[turn->slot].operand == first && turn->spins > 0) {
        result.temporal[i].assign(op_.operands[i].dims.size(), 1);
        for (std::size_t k = 0; k < turn->spins; ++k) {
          result.temporal[i][static_cast<std::size_t>(turn->spin[k].dim)] = turn->spin[k].parts;
        }
      }
    }
  }
  return result;
}

Found Search::found() const {
  Found result{.members = {},
               .fastest = fastest_,
               .counts = counts_,
               .floor = floor_.result(),
               .smallest = smallest_};
  for (const std::size_t id : archive_.members()) {
    result.members.push_back(plans_[id]);
  }
  result.counts.pareto = static_cast<std::int64_t>(result.members.size());
  return result;
}

}  // namespace elk::cost
