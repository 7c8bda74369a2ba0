#include <algorithm>
#include <optional>

#include "elk/base/rounding.hpp"
#include "elk/cost/price/core_groups.hpp"
#include "elk/cost/price/pricer.hpp"
#include "elk/partition/plan.hpp"
#include "elk/partition/rotation.hpp"

namespace elk::cost {
namespace {

using partition::element_bytes;

/// One rotated axis.
struct Loop {
  std::int64_t bytes;  // of the partitions that rotate along it
  std::int32_t axis;
  std::int64_t pace;
  std::int64_t shifts;  // of every tensor that rotates along it
};

/// The rotated axes, outermost loop first.
class Nest {
 public:
  Nest(std::span<const TemporalFactors* const> turns, const LoopOrder& loops) {
    for (const TemporalFactors* turn : turns) {
      for (std::size_t i = 0; i < turn->spins; ++i) {
        add(turn->spin[i], turn->space);
      }
    }
    if (count_ == 0) {
      return;
    }
    sort(loops.order);
    if (!loops.pace.empty()) {
      for (Loop& loop : used()) {
        loop.pace = loops.pace[static_cast<std::size_t>(loop.axis)];
      }
    }
  }

  [[nodiscard]] std::span<Loop> used() { return {loop_.data(), count_}; }
  [[nodiscard]] const Loop& at(std::int32_t axis) { return loop_[place(axis)]; }
  [[nodiscard]] std::size_t place(std::int32_t axis) const {
    const auto* found = std::find_if(loop_.begin(), loop_.end(),
                                     [axis](const Loop& loop) { return loop.axis == axis; });
    return static_cast<std::size_t>(found - loop_.begin());
  }

  /// The stride of a circle (`partition::Circle`): cores of the circles of the loops within its
  /// own.
  [[nodiscard]] std::int64_t apart(const TemporalFactors& turn, const TemporalDim& spin) const {
    std::int64_t result = 1;
    for (std::size_t i = 0; i < turn.spins; ++i) {
      result *= place(turn.spin[i].axis) > place(spin.axis) ? turn.spin[i].parts : 1;
    }
    return result;
  }

 private:
  void add(const TemporalDim& spin, std::int64_t bytes) {
    std::size_t i = 0;
    while (i < count_ && loop_[i].axis != spin.axis) {
      ++i;
    }
    if (i == count_) {
      loop_[count_++] = {.bytes = 0, .axis = spin.axis, .pace = spin.length, .shifts = 0};
    }
    loop_[i].bytes += bytes;
    loop_[i].pace = std::min(loop_[i].pace, spin.length);
  }

  void sort(std::span<const std::int32_t> order) {
    const auto place = [order](const Loop& loop) {
      return std::find(order.begin(), order.end(), loop.axis) - order.begin();
    };
    std::sort(used().begin(), used().end(), [&](const Loop& a, const Loop& b) {
      if (!order.empty()) {
        return place(a) < place(b);
      }
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.axis < b.axis;
    });
  }

  std::array<Loop, kMostAxes> loop_{};
  std::size_t count_ = 0;
};

}  // namespace

ExchangeCost Pricer::gather(const Cut& cut, std::span<const TemporalFactors* const> turns) const {
  Traffic traffic;
  traffic.wide = cut.wide;
  std::int64_t moved = 0;
  for (const TemporalFactors* turn : turns) {
    traffic.received += turn->received;
    traffic.fragments += turn->fragments;
    const SlotPiece& held = cut.held[turn->slot];
    traffic.chip_in += held.chip_in;
    if (turn->received > 0) {
      moved += fabric_.multicast()
                   ? element_bytes(slots_[turn->slot].unique, slots_[turn->slot].bits).value
                   : turn->received * cut.cores;
    }
  }
  fabric_.gather(traffic, moved);
  return fabric_.exchange(traffic);
}

/// Partitions that come into the busiest chip with one shift: one for each end of it within a ring.
std::int64_t Pricer::rings_across(const Cut& cut, const TemporalFactors& turn) const {
  const std::int64_t straddling = cut.held[turn.slot].straddling;
  if (straddling == 0) {
    return 0;
  }
  const std::optional<CoreGroups> sharers = groups(cut, ~slots_[turn.slot].contained);
  if (!sharers) {
    return straddling;
  }
  return most_in(cut, *sharers, fabric_.chips(), [&](const Members& here) {
    return std::int64_t{here.begin % turn.parts != 0} + std::int64_t{here.end % turn.parts != 0};
  });
}

/// Whether the `cores` that differ in their places along the cut axes selected by `along` lie once
/// around a grid.
bool Pricer::goes_around(const Cut& cut, std::uint64_t along, std::int64_t cores) const {
  const auto selected = [along](std::int32_t axis) {
    return ((along >> static_cast<unsigned>(axis)) & 1U) != 0;
  };
  if (!fabric_.grid() || std::count_if(cut.order.begin(), cut.order.end(), selected) != 1) {
    return false;
  }
  const auto axis =
      static_cast<std::size_t>(*std::find_if(cut.order.begin(), cut.order.end(), selected));
  return fabric_.chip().goes_around(static_cast<std::size_t>(cut.mesh_dims[axis]), cut.factor[axis],
                                    cores);
}

/// Whether cores that differ in their places along these axes differ in those of a full line.
bool Pricer::by_ports(const Cut& cut, std::uint64_t along) const {
  return fabric_.has_full() &&
         std::any_of(cut.order.begin(), cut.order.end(), [&](std::int32_t axis) {
           const auto at = static_cast<std::size_t>(axis);
           return ((along >> static_cast<unsigned>(axis)) & 1U) != 0 &&
                  fabric_.machine().full(static_cast<std::size_t>(cut.mesh_dims[at]));
         });
}

/// One shift of a slab of `pace` indices: in chunks of the transfer buffer, each with a sync, and
/// copied into place unless the chip shifts natively (design 3.3). `apart` counts the cores from
/// one of the circle to the next: between them lie those of as many other circles.
ExchangeCost Pricer::shift(const Cut& cut, const TemporalFactors& turn, const TemporalDim& spin,
                           std::int64_t pace, std::int64_t apart) {
  const Slot& slot = slots_[turn.slot];
  const std::int64_t moved = std::min(pace, spin.count);
  const std::int64_t elements = turn.elements / spin.count * moved;
  const std::int64_t bytes = element_bytes(elements, slot.bits).value;
  const std::int64_t buffer = chip_.core.reserved.value;
  const std::int64_t chunks = buffer > 0 ? ceil_div(bytes, buffer) : 1;
  Traffic traffic;
  traffic.received = bytes;
  traffic.sent = bytes;
  traffic.wide = cut.wide;
  traffic.chip_in = bytes * rings_across(cut, turn) * apart;
  const bool around =
      apart * spin.parts == turn.parts && goes_around(cut, ~slot.contained, turn.parts);
  fabric_.shift(traffic,
                {.cores = spin.parts,
                 .apart = apart,
                 .around = around,
                 .full = by_ports(cut, ~slot.contained)},
                bytes);
  ExchangeCost result = fabric_.exchange(traffic);
  const bool crosses = cut.wide || traffic.chip_in > 0;
  result.time += fabric_.sync(crosses) * static_cast<double>(chunks - 1);
  if (!chip_.interconnect.native_shift) {
    const std::int64_t runs = moved == spin.count ? 1 : spin.outer;
    const std::int64_t slices = ceil_div(runs, chunks);
    const std::int64_t run = ceil_div(elements, slices * chunks);
    const double copies = static_cast<double>(chunks) * tiles_.copy(slices, run, slot.bits);
    result.time.value += copies;
    result.tail.value += copies;
  }
  return result;
}

void Pricer::move(const Cut& cut, std::span<const TemporalFactors* const> turns,
                  const LoopOrder& loops, Motion& motion) {
  std::copy(cut.tile.begin(), cut.tile.end(), motion.sub_task.begin());
  motion.space = 0;
  for (const TemporalFactors* turn : turns) {
    motion.space += turn->space;
  }
  motion.gather = gather(cut, turns);
  motion.shift = kNoExchange;
  motion.steps = 1;
  Nest nest(turns, loops);
  std::uint64_t looped = 0;  // a bit for each axis
  for (Loop& loop : nest.used()) {
    const auto axis = static_cast<std::size_t>(loop.axis);
    motion.steps *= ceil_div(cut.tile[axis], loop.pace);
    motion.sub_task[axis] = loop.pace;
    loop.shifts = motion.steps - 1;
    looped |= std::uint64_t{1} << axis;
  }
  const bool wide = (looped & summed_) != 0;  // Whether partial sums outlive a step.
  motion.space += wide ? cut.result_wide : cut.result;
  motion.loops = nest.used().size();
  for (std::size_t l = 0; l < motion.loops; ++l) {
    motion.rounds[l] = {.steps = nest.used()[l].shifts, .once = 0.0};
  }
  if (motion.steps > 1) {
    for (const TemporalFactors* turn : turns) {
      for (std::size_t i = 0; i < turn->spins; ++i) {
        const Loop& loop = nest.at(turn->spin[i].axis);
        const TemporalDim& spin = turn->spin[i];
        const ExchangeCost once = loop.pace == spin.length && turn->spins == 1
                                      ? spin.once
                                      : shift(cut, *turn, spin, loop.pace, nest.apart(*turn, spin));
        motion.rounds[nest.place(turn->spin[i].axis)].once += once.time.value;
        motion.shift = after(motion.shift, repeated(once, loop.shifts));
      }
    }
  }
  motion.exchange = motion.gather.bytes.value + motion.shift.bytes.value + cut.reduce.bytes.value;
}

double Pricer::compute(const Motion& motion) {
  return static_cast<double>(motion.steps) *
         tiles_.sub_task(std::span(motion.sub_task.data(), size_.size()));
}

namespace {

/// Seconds of shifts that stick out of the steps of `compute` seconds behind which they hide:
///
///     sum over loops l of (n_l - n_(l-1)) max(0, s_l + ... + s_L - compute)
///
/// where n_l is `steps` and s_l is `once` of loop l, the innermost of which is L.
double exposed(const Motion& motion, double compute) {
  double sum = 0.0;
  double moving = 0.0;
  for (std::size_t l = motion.loops; l-- > 0;) {
    moving += motion.rounds[l].once;
    const std::int64_t outer = l > 0 ? motion.rounds[l - 1].steps : 0;
    sum += static_cast<double>(motion.rounds[l].steps - outer) * std::max(0.0, moving - compute);
  }
  return sum;
}

}  // namespace

void hide_shifts(const chip::Chip& chip, double compute, Motion& motion) {
  if (chip.interconnect.overlaps_compute && motion.steps > 1) {
    motion.shift.time.value = exposed(motion, compute / static_cast<double>(motion.steps));
    motion.shift.wire = std::min(motion.shift.wire, motion.shift.time);
    motion.shift.tail = std::min(motion.shift.tail, motion.shift.time - motion.shift.wire);
  }
}

double Pricer::time(const Cut& cut, Motion& motion, double compute) const {
  hide_shifts(chip_, compute, motion);
  return motion.gather.time.value + compute + motion.shift.time.value + cut.reduce.time.value;
}

}  // namespace elk::cost
