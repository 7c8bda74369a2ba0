#include "elk/cost/front/search.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/mechanisms.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/cost/exchange/cost_tuning.hpp"
#include "elk/cost/floor/cuts.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/plan.hpp"

namespace elk::cost {
bool is_vast(const ir::Op& op, const chip::Chip& chip) {
  const std::int64_t cores = chip::total_cores(chip);
  return count_cuts(all_factors(op, cores), cores, tuning::kVast) > tuning::kVast;
}

void Collection::add(const Merits& point, PlanFactors&& plan) {
  std::size_t id = 0;
  const Archive::Dominance place = archive.add(point, id);
  if (place == Archive::Dominance::New) {
    plans.push_back(std::move(plan));
  } else if (place == Archive::Dominance::Equal && plan < plans[id]) {
    plans[id] = std::move(plan);
  }
}

std::vector<PlanFactors> Collection::members() const {
  std::vector<PlanFactors> result;
  for (const std::size_t id : archive.members()) {
    result.push_back(plans[id]);
  }
  return result;
}

FrontSearch::FrontSearch(Pricer& pricer, tile::TileRates& rates, const Constraints& constraints)
    : pricer_(pricer),
      rates_(rates),
      op_(pricer.op()),
      chip_(pricer.chip()),
      constraints_(constraints),
      room_(chip::room(chip_).value),
      cores_(chip::total_cores(chip_)),
      all_factors_(all_factors(op_, cores_)),
      factors_(spaced_factors(op_, all_factors_, cores_)),
      coarse_(factors_ != all_factors_),
      vast_(count_cuts(all_factors_, cores_, tuning::kVast) > tuning::kVast),
      order_(survey_order()),
      turns_(pricer, cores_),
      floor_(pricer, rates, cores_, vast_),
      cut_(uncut(op_.axes.size())),
      least_(),
      choice_(pricer.reads()),
      rest_(pricer.reads() + 1, 0),
      motion_(),
      members_{.archive = Archive(pricer.least_hbm()), .plans = {}},
      prompt_members_{.archive = Archive(pricer.least_hbm()), .plans = {}},
      slack_(mechanisms().thinning &&
                     count_cuts(all_factors_, cores_, tuning::kThinned) >= tuning::kThinned
                 ? constraints.thinning
                 : 0.0),
      least_time_(std::numeric_limits<double>::infinity()),
      smallest_(std::numeric_limits<std::int64_t>::max()),
      combinations_(tuning::kFewCombinations),
      counts_{.complete = 0, .filtered = 0, .pareto = 0} {}

bool FrontSearch::run() {
  look_at_front();
  if (coarse_ || vast_) {
    survey_all();
  }
  count_complete();
  return sound_ || vast_;
}

/// A space in which nothing fits is looked at again, more closely each time.
void FrontSearch::look_at_front() {
  visit_all(factors_);
  if (coarse_ && fastest_.empty()) {
    coarse_ = false;
    factors_ = all_factors_;
    counts_.filtered = 0;
    visit_all(factors_);
  }
  for (const std::int64_t most :
       {tuning::kMostCombinations, std::numeric_limits<std::int64_t>::max()}) {
    if (fastest_.empty() && smallest_ <= room_ && (sound_ || vast_)) {
      combinations_ = most;
      counts_.filtered = 0;
      visit_all(factors_);
    }
  }
  if (coarse_ && mechanisms().refine) {
    refine();
  }
}

/// Cuts into many pieces come first: what they reach excludes most of the others.
void FrontSearch::visit_all(const Factors& factors) {
  const auto many = static_cast<std::int64_t>(tuning::kManyCores * static_cast<double>(cores_));
  visit(factors, {.begin = many + 1, .end = cores_ + 1}, AxisId{0}, 1);
  visit(factors, {.begin = 1, .end = many + 1}, AxisId{0}, 1);
}

/// Cuts into a number of pieces within `cores`, with factors of the axes before `axis` that make
/// `product`.
void FrontSearch::visit(const Factors& factors, const elk::Interval<std::int64_t>& cores,
                        AxisId axis, std::int64_t product) {
  if (axis.index() == factors.size()) {
    if (cores.contains(product)) {
      leaf();
    }
    return;
  }
  for (const std::int64_t factor : factors[axis]) {
    if (product * factor >= cores.end || !(sound_ || vast_)) {
      break;
    }
    cut_by(axis, factor);
    visit(factors, cores, axis + 1, product * factor);
  }
}

void FrontSearch::cut_by(AxisId axis, std::int64_t factor) {
  cut_.factor[axis] = factor;
  cut_.tile[axis] = ceil_div(op_.axes[axis].size, factor);
}

/// Whether the cut passes the constraints of the user.
bool FrontSearch::allowed() const {
  const double share = static_cast<double>(cut_.cores) / static_cast<double>(cores_);
  if (share < constraints_.min_core_share) {
    return false;
  }
  if (constraints_.max_padding <= 0.0) {
    return true;
  }
  for (const Slot& slot : pricer_.slots()) {
    double padding = 1.0;
    for (const AxisId axis : op_.axes.ids()) {
      if (((slot.contained >> axis.index()) & 1U) != 0) {
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

void FrontSearch::count_space(std::int64_t least, bool allowed) {
  if (least > room_ && least >= smallest_) {
    return;
  }
  std::int64_t most = std::max(cut_.result, cut_.result_wide);
  for (std::size_t slot = 0; slot < pricer_.reads(); ++slot) {
    most += partition::aligned(
                partition::element_bytes(cut_.held[slot].elements, pricer_.slots()[slot].bits))
                .value;
  }
  const bool all = most <= room_ && !turns_.may_clash(cut_);
  if (least < smallest_ || (allowed && !all)) {
    turns_.build(cut_);
    smallest_ = least < smallest_ ? std::min(smallest_, turns_.least_space(cut_)) : smallest_;
  }
  if (allowed) {
    counts_.filtered =
        saturated_sum(counts_.filtered, all ? turns_.distinct(cut_) : turns_.fitting(cut_, room_));
  }
}

/// Whether the cut fits the chip's grid, if it has one.
bool FrontSearch::arranged() {
  return (!pricer_.fabric().grid() && pricer_.fabric().chips() == 1) || pricer_.arrange(cut_);
}

void FrontSearch::leaf() {
  if (!arranged()) {
    return;
  }
  pricer_.measure(cut_);
  prompt_ = mechanisms().even_pieces && !vast_ && leaves_even_pieces();
  cut_wait_ = least_wait();
  const bool passes = allowed();
  cut_.reduce = kNoExchange;
  const double compute = least_compute();
  const Merits before = corner(compute);
  count_space(before.space, passes);
  if (before.space > room_) {
    return;
  }
  const bool covered = !passes || excluded(before, cut_wait_);
  const bool asks = covered && before.time > least_time_;
  if (asks && (vast_ || floor_.skips(cut_, compute))) {
    return;
  }
  time_whole();
  gained_ = rates_.gain() * whole_.time;
  bound(compute);
  if ((passes && !excluded(least_, cut_wait_)) || least_.time <= least_time_) {
    expand(passes);
  }
}

void FrontSearch::expand(bool allowed) {
  turns_.build(cut_);
  turns_.coarsen(allowed && vast_ ? combinations_
                                  : std::max(combinations_, tuning::kMostCombinations));
  for (std::size_t slot = choice_.size(); slot-- > 0;) {
    rest_[slot] = rest_[slot + 1] + turns_.least(slot);
  }
  choose(0, allowed);
}

/// Every choice of turns of the slots from `slot` on, after those already chosen.
void FrontSearch::choose(std::size_t slot, bool allowed) {
  if (slot == choice_.size()) {
    weigh(allowed);
    return;
  }
  const bool last = slot + 1 == choice_.size();
  for (TemporalFactors& turn : turns_.of(slot)) {
    if (!turns_.in_step(turn, std::span(choice_).first(slot))) {
      continue;
    }
    choice_[slot] = &turn;
    const bool tells = last || turns_.of(slot).size() > 1;
    if (!tells || !hopeless(slot + 1, allowed)) {
      choose(slot + 1, allowed);
    }
  }
}

/// Prices the chosen turns, and keeps the plan if it is worth it.
void FrontSearch::weigh(bool allowed) {
  if (!crossed_) {
    const bool assumed = cut_.wide;
    pricer_.cross(cut_);
    if (assumed || cut_.wide) {
      pricer_.reduce(cut_);  // So far without what crosses from chip to chip.
    }
    crossed_ = true;
  }
  for (TemporalFactors* turn : choice_) {
    if (!turn->detailed) {
      pricer_.detail(cut_, *turn);
    }
  }
  pricer_.move(cut_, choice_, {.pace = {}, .order = {}}, motion_);
  if (motion_.space > room_) {
    return;
  }
  const double least = static_cast<double>(motion_.steps) *
                       rates_.least(std::span(motion_.sub_task.data(), op_.axes.size()));
  const double by_gain = motion_.steps == 1 ? whole_.time : gained_;
  Merits point{
      .space = motion_.space,
      .exchange = motion_.exchange,
      .hbm = pricer_.chip_hbm(cut_, choice_),
      .time = motion_.gather.time.value + cut_.reduce.time.value + std::max(least, by_gain)};
  if (!chip_.interconnect.overlaps_compute) {
    point.time += motion_.shift.time.value;
  }
  point.time *= kRoundedDown;
  const bool covered = !allowed || excluded(point, wait());
  if (covered && point.time > least_time_) {
    return;
  }
  const double compute = pricer_.compute(motion_);
  if (!rates_.holds(compute, least, whole_)) {
    sound_ = false;
  }
  point.time = pricer_.time(cut_, motion_, compute);
  compete(point.time);
  if (!covered) {
    keep(point);
  }
}

void FrontSearch::keep(const Merits& point) {
  members_.add(point, candidate());
  if (prompt_) {
    Merits from_preload = point;
    from_preload.time += wait();
    prompt_members_.add(from_preload, candidate());
  }
}

/// Bytes a core at the smallest preload state.
std::int64_t FrontSearch::preload_space(const PlanFactors& plan) const {
  std::int64_t sum = 0;
  for (const TemporalFactors* turn : choice_) {
    const Slot& slot = pricer_.slots()[turn->slot];
    if (!slot.hbm) {
      continue;
    }
    std::int64_t divisor = cut_.held[turn->slot].sharers / turn->parts;
    if (cut_.wide) {
      const auto whole =
          partition::complete_plan(pricer_.graph(), op_, plan.factors, plan.temporal, chip_);
      if (whole) {
        divisor =
            partition::sharing(pricer_.graph(), op_, slot.operand, *whole, chip_).divisors.back();
      }
    }
    sum += partition::preload_piece({turn->space}, divisor).value;
  }
  return sum;
}

/// The fastest plan; ties: the smallest preload, then the lesser factors (design 6.5).
void FrontSearch::compete(double time) {
  if (time > least_time_) {
    return;
  }
  const PlanFactors plan = candidate();
  const std::int64_t preload = preload_space(plan);
  if (time < least_time_ || preload < fastest_preload_ ||
      (preload == fastest_preload_ && plan < fastest_.front())) {
    least_time_ = time;
    fastest_preload_ = preload;
    fastest_.assign(1, plan);
  }
}

PlanFactors FrontSearch::candidate() const {
  PlanFactors result{.factors = cut_.factor,
                     .temporal = Table<OperandId, Table<DimId, std::int64_t>>(op_.operands.size())};
  for (const OperandId i : op_.operands.ids()) {
    const OperandId first = partition::first_like(op_, i);
    for (const TemporalFactors* turn : choice_) {
      if (pricer_.slots()[turn->slot].operand == first && turn->spins > 0) {
        result.temporal[i].assign(op_.operands[i].dims.size(), 1);
        for (std::size_t k = 0; k < turn->spins; ++k) {
          result.temporal[i][turn->spin[k].dim] = turn->spin[k].parts;
        }
      }
    }
  }
  return result;
}

SearchResult FrontSearch::found() const {
  SearchResult result{.members = members_.members(),
                      .prompt = prompt_members_.members(),
                      .fastest = fastest_,
                      .counts = counts_,
                      .floor = floor_.result(),
                      .smallest = smallest_};
  result.counts.pareto = static_cast<std::int64_t>(result.members.size());
  return result;
}

}  // namespace elk::cost
