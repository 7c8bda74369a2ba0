#include <algorithm>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/cost/front/search.hpp"
#include "elk/partition/plan.hpp"

/// Why the search may skip a plan: proved, given the least times of tiles.
namespace elk::cost {

/// Time bounds of the cut's tiles, from their rates alone.
double FrontSearch::least_compute() {
  cut_rate_ = rates_.rate(cut_.tile);
  cut_volume_ = rates_.volume(cut_.tile);
  return cut_rate_ * cut_volume_;
}

/// The least that any plan under the cut needs. However an operand is split over time, its gather
/// and shifts together bring all of it, and its partitions are no smaller than its sharers allow.
Merits FrontSearch::corner(double compute) const {
  Merits least{.space = std::min(cut_.result, cut_.result_wide),
               .exchange = cut_.reduce.bytes.value,
               .hbm = pricer_.least_hbm(),
               .time = compute + cut_.reduce.time.value};
  std::int64_t gathered = 0;
  for (std::size_t slot = 0; slot < pricer_.reads(); ++slot) {
    const SlotPiece& held = cut_.held[slot];
    const std::int64_t bits = pricer_.slots()[slot].bits;
    const std::int64_t bytes = partition::element_bytes(held.elements, bits).value;
    least.space += bytes / held.sharers;
    gathered += pricer_.slots()[slot].hbm ? 0 : bytes;
  }
  least.exchange += gathered;
  if (gathered > 0) {
    least.time += pricer_.fabric().least_sync().value;
    if (!pricer_.fabric().grid() && !chip_.interconnect.overlaps_compute) {
      least.time += static_cast<double>(gathered) / chip_.interconnect.link_rate;
    }
  }
  least.time *= kRoundedDown;
  return least;
}

/// The cut's tile in one step.
void FrontSearch::time_whole() {
  whole_.time = pricer_.tiles().sub_task(cut_.tile);
  whole_.beyond = rates_.tells_beyond() && pricer_.tiles().extrapolated(cut_.tile);
}

/// The least that any plan under the cut needs, its reductions included; `whole_` and `gained_`
/// are known.
void FrontSearch::bound(double compute) {
  pricer_.reduce(cut_);
  crossed_ = false;
  sound_ = floor_.add(cut_, whole_, turns_) && sound_;
  least_ = corner(std::max(compute, gained_));
}

/// Whether every core that keeps a part of a result gets an equal piece of it.
bool FrontSearch::leaves_even_pieces() const {
  for (std::size_t slot = pricer_.reads(); slot < pricer_.slots().size(); ++slot) {
    const partition::Scatter& scatter = cut_.held[slot].scatter;
    if (scatter.parts == 1) {
      continue;
    }
    if (pricer_.slots()[slot].dims.empty()) {
      return false;  // A scalar has no pieces.
    }
    const auto dim = scatter.dim;
    const SlotDim& map = pricer_.slots()[slot].dims[dim];
    std::int64_t cuts = scatter.parts;
    for (const AxisId axis : map.axes) {
      cuts *= cut_.factor[axis];
    }
    if (map.shape % cuts != 0 || scatter.piece * scatter.parts != scatter.tile) {
      return false;
    }
  }
  return true;
}

/// Seconds that the preload of the chosen turns takes.
double FrontSearch::wait() const {
  std::int64_t bytes = 0;
  for (const TemporalFactors* turn : choice_) {
    bytes += pricer_.slots()[turn->slot].hbm ? turn->space : 0;
  }
  return wait(bytes);
}

/// The least wait of any turns under the cut: no partition is smaller than its sharers allow.
double FrontSearch::least_wait() const {
  std::int64_t bytes = 0;
  for (std::size_t slot = 0; slot < pricer_.reads(); ++slot) {
    const SlotPiece& held = cut_.held[slot];
    if (pricer_.slots()[slot].hbm) {
      bytes +=
          partition::element_bytes(held.elements, pricer_.slots()[slot].bits).value / held.sharers;
    }
  }
  return wait(bytes);
}

/// Seconds until every core has received `bytes` of the op's HBM bytes through its port.
double FrontSearch::wait(std::int64_t bytes) const {
  return static_cast<double>(bytes) / chip_.interconnect.link_rate;
}

/// Whether some member covers every plan that needs at least what `corner` does, and `wait` for its
/// preload; in a thinned front, up to the thinning in space, exchange and time.
bool FrontSearch::excluded(const Merits& corner, double wait) {
  const auto loose = [&](std::int64_t value) {
    return slack_ > 0.0 ? static_cast<std::int64_t>(static_cast<double>(value) * (1.0 + slack_))
                        : value;
  };
  Merits loosened{.space = loose(corner.space),
                  .exchange = loose(corner.exchange),
                  .hbm = corner.hbm,
                  .time = corner.time * (1.0 + slack_)};
  if (!members_.archive.excludes(loosened)) {
    return false;
  }
  loosened.time = (corner.time + wait) * (1.0 + slack_);
  return !prompt_ || prompt_members_.archive.excludes(loosened);
}

/// Seconds that the shifts of the chosen turns take at least: they bring what the partitions leave
/// out, and each pays a sync. A tensor shifts after every step of its own loops but the last; the
/// one on the innermost loop after every step of all.
double FrontSearch::least_shifts(std::size_t chosen, std::int64_t bytes) const {
  if (chip_.interconnect.overlaps_compute) {
    return 0.0;
  }
  std::int64_t all = 1;
  std::int64_t sum = 0;
  std::int64_t most = 0;
  for (std::size_t slot = 0; slot < chosen; ++slot) {
    const TemporalFactors& turn = *choice_[slot];
    if (turn.spins > 0) {
      sum += turn.steps - 1;
      most = std::max(most, turn.steps - 1);
      all = shares_axis(slot) ? std::max(all, turn.steps) : all * turn.steps;
    }
  }
  const double syncs = static_cast<double>(sum - most + std::max(all - 1, most));
  const double wire =
      pricer_.fabric().grid() ? 0.0 : static_cast<double>(bytes) / chip_.interconnect.link_rate;
  return (syncs * pricer_.fabric().least_sync().value) + wire;
}

/// Whether an earlier turn rotates along an axis of this one.
bool FrontSearch::shares_axis(std::size_t slot) const {
  const TemporalFactors& turn = *choice_[slot];
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

/// Whether the first `chosen` turns cannot lead to a plan worth keeping, whatever the others are
/// and before loops are known. No sub-task is longer than a partition.
bool FrontSearch::hopeless(std::size_t chosen, bool allowed) {
  Merits point = least_;
  point.space = std::min(cut_.result, cut_.result_wide) + rest_[chosen];
  double rate = cut_rate_;
  std::int64_t more = 0;
  for (std::size_t slot = 0; slot < chosen; ++slot) {
    const TemporalFactors& turn = *choice_[slot];
    point.space += turn.space;
    more += turn.more_bytes;
    for (std::size_t i = 0; i < turn.spins; ++i) {
      const auto axis = turn.spin[i].axis;
      rate = std::max(rate, rates_.rate(axis, turn.spin[i].length));
    }
  }
  if (point.space > room_) {
    return true;
  }
  point.exchange += more;
  const double known = std::max(cut_rate_ * cut_volume_, gained_);
  point.time +=
      kRoundedDown * (least_shifts(chosen, more) + std::max(0.0, (rate * cut_volume_) - known));
  return point.time > least_time_ && (!allowed || excluded(point, cut_wait_));
}

}  // namespace elk::cost
