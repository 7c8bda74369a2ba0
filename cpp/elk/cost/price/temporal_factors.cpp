#include "elk/cost/price/temporal_factors.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "elk/base/ids.hpp"
#include "elk/base/mechanisms.hpp"
#include "elk/base/rounding.hpp"
#include "elk/cost/exchange/cost_tuning.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/rotation.hpp"

namespace elk::cost {
namespace {

/// The axes along which a slot may rotate.
std::uint64_t rotating_axes(const Slot& slot) {
  std::uint64_t axes = 0;
  for (const SlotDim& dim : slot.dims) {
    axes |= dim.rotates ? std::uint64_t{1} << static_cast<std::uint32_t>(dim.axes[0].value) : 0;
  }
  return axes;
}

std::uint64_t cut_axes(const Cut& cut) {
  std::uint64_t axes = 0;
  for (const AxisId axis : cut.factor.ids()) {
    axes |= cut.factor[axis] > 1 ? std::uint64_t{1} << axis.index() : 0;
  }
  return axes;
}

}  // namespace

std::int64_t saturated_product(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return b != 0 && a > kMost / b ? kMost : a * b;
}

std::int64_t saturated_sum(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return a > kMost - b ? kMost : a + b;
}

TemporalFactorLists::TemporalFactorLists(const Pricer& pricer, std::int64_t cores)
    : pricer_(pricer),
      sharing_(pricer.reads(), 0),
      turns_(pricer.reads()),
      divisors_(static_cast<std::size_t>(cores) + 1),
      vectors_(kMostRank + 1) {
  for (std::size_t one = 0; one < pricer.reads(); ++one) {
    for (std::size_t other = 0; other < one; ++other) {
      const Slot& slot = pricer.slots()[one];
      const Slot& beside = pricer.slots()[other];
      const std::uint64_t axes = ~slot.contained & ~beside.contained;
      if ((rotating_axes(slot) & rotating_axes(beside)) != 0) {
        clashes_.push_back(axes);
      }
    }
  }
}

const std::vector<std::int64_t>& TemporalFactorLists::divisors(std::int64_t number) {
  std::vector<std::int64_t>& known = divisors_[static_cast<std::size_t>(number)];
  if (known.empty()) {
    known = partition::divisors(number);
  }
  return known;
}

/// Vectors of `dims` factors whose product divides `sharers`.
std::int64_t TemporalFactorLists::vectors(std::size_t dims, std::int64_t sharers) {
  if (dims == 0 || sharers == 1) {
    return 1;
  }
  std::vector<std::int64_t>& known = vectors_[dims];
  known.resize(divisors_.size(), 0);
  const auto at = static_cast<std::size_t>(sharers);
  if (known[at] == 0) {
    std::int64_t sum = 0;
    for (const std::int64_t d : divisors(sharers)) {
      sum += vectors(dims - 1, sharers / d);
    }
    known[at] = sum;
  }
  return known[at];
}

/// Partition sizes of a tile among divisors of `sharers`, but the tile itself.
std::int64_t TemporalFactorLists::sizes(std::int64_t tile, std::int64_t sharers) {
  const std::uint64_t key =
      (static_cast<std::uint64_t>(tile) << 20U) ^ static_cast<std::uint64_t>(sharers);
  if (const std::int64_t* known = sizes_.find(key)) {
    return *known;
  }
  std::int64_t count = 0;
  std::int64_t last = tile;
  for (const std::int64_t d : divisors(sharers)) {
    const std::int64_t part = ceil_div(tile, d);
    count += part < last ? 1 : 0;
    last = part;
  }
  sizes_.put(key, count);
  return count;
}

std::int64_t TemporalFactorLists::complete(const Cut& cut) {
  std::int64_t product = 1;
  for (std::size_t slot = 0; slot < turns_.size(); ++slot) {
    std::size_t dims = 0;
    for (const SlotDim& dim : pricer_.slots()[slot].dims) {
      dims += dim.rotates ? 1 : 0;
    }
    product = saturated_product(product, vectors(dims, cut.held[slot].sharers));
  }
  return product;
}

std::int64_t TemporalFactorLists::distinct(const Cut& cut) {
  std::int64_t product = 1;
  for (std::size_t slot = 0; slot < turns_.size(); ++slot) {
    std::int64_t count = 1;
    for (const SlotDim& dim : pricer_.slots()[slot].dims) {
      if (dim.rotates && cut.held[slot].sharers > 1) {
        count += sizes(cut.tile[dim.axes[0]], cut.held[slot].sharers);
      }
    }
    product = saturated_product(product, count);
  }
  return product;
}

bool TemporalFactorLists::may_clash(const Cut& cut) const {
  const std::uint64_t axes = clashes_.empty() ? 0 : cut_axes(cut);
  return std::any_of(clashes_.begin(), clashes_.end(),
                     [&](std::uint64_t clash) { return (clash & axes) != 0; });
}

bool TemporalFactorLists::turn_in_step(const TemporalFactors& turn,
                                       std::span<const TemporalFactors* const> others) const {
  const auto beat = [&](const TemporalFactors& one) {
    return partition::Beat{.axes = sharing_[one.slot], .parts = one.spin[0].parts, .stride = 1};
  };
  return std::all_of(others.begin(), others.end(), [&](const TemporalFactors* other) {
    return other->spins == 0 || other->spin[0].axis != turn.spin[0].axis ||
           partition::in_step(beat(turn), beat(*other));
  });
}

void TemporalFactorLists::append(const Cut& cut, std::size_t slot, DimId dim) {
  const Slot& read = pricer_.slots()[slot];
  const std::int64_t tile = cut.tile[read.dims[dim].axes[0]];
  std::array<std::int64_t, kMostRank> parts{};
  std::int64_t last = tile;
  for (const std::int64_t d : divisors(cut.held[slot].sharers)) {
    const std::int64_t part = ceil_div(tile, d);
    if (part < last) {
      last = part;
      parts[dim.index()] = d;
      pricer_.split(cut, slot, std::span(parts.data(), read.dims.size()),
                    turns_[slot].emplace_back());
    }
  }
}

void TemporalFactorLists::build(const Cut& cut) {
  clashing_ = may_clash(cut);
  const std::uint64_t axes = clashing_ ? cut_axes(cut) : 0;
  for (std::size_t slot = 0; slot < turns_.size(); ++slot) {
    sharing_[slot] = axes & ~pricer_.slots()[slot].contained;
    turns_[slot].clear();
    pricer_.split(cut, slot, {}, turns_[slot].emplace_back());
    for (const DimId dim : pricer_.slots()[slot].dims.ids()) {
      if (mechanisms().rotations && pricer_.slots()[slot].dims[dim].rotates &&
          cut.held[slot].sharers > 1) {
        append(cut, slot, dim);
      }
    }
  }
}

bool TemporalFactorLists::summed(const TemporalFactors& turn) const {
  return std::any_of(
      turn.spin.begin(), turn.spin.begin() + static_cast<std::ptrdiff_t>(turn.spins),
      [&](const TemporalDim& spin) { return ((pricer_.summed() >> spin.axis.value) & 1U) != 0; });
}

bool TemporalFactorLists::fits_beside(const TemporalFactors& turn,
                                      std::span<const TemporalFactors* const> chosen,
                                      bool summed_allowed) const {
  return (summed_allowed || !summed(turn)) && in_step(turn, chosen);
}

/// Combinations with those `chosen` of the first slots whose other turns leave `room`.
std::int64_t TemporalFactorLists::count_within(std::vector<const TemporalFactors*>& chosen,
                                               std::int64_t room, bool summed_allowed) const {
  if (room < 0) {
    return 0;
  }
  if (chosen.size() == turns_.size()) {
    return 1;
  }
  std::int64_t sum = 0;
  for (const TemporalFactors& turn : turns_[chosen.size()]) {
    if (fits_beside(turn, chosen, summed_allowed)) {
      chosen.push_back(&turn);
      sum += count_within(chosen, room - turn.space, summed_allowed);
      chosen.pop_back();
    }
  }
  return sum;
}

/// The least space of the other turns of such a combination, or `room` if that is no more.
std::int64_t TemporalFactorLists::least_within(std::vector<const TemporalFactors*>& chosen,
                                               std::int64_t room, bool summed_allowed) const {
  if (chosen.size() == turns_.size()) {
    return 0;
  }
  std::int64_t rest = 0;
  for (std::size_t slot = chosen.size() + 1; slot < turns_.size(); ++slot) {
    rest += least(slot);
  }
  std::int64_t best = room;
  for (const TemporalFactors& turn : turns_[chosen.size()]) {
    if (turn.space + rest < best && fits_beside(turn, chosen, summed_allowed)) {
      chosen.push_back(&turn);
      best = turn.space + least_within(chosen, best - turn.space, summed_allowed);
      chosen.pop_back();
    }
  }
  return best;
}

std::int64_t TemporalFactorLists::fitting(const Cut& cut, std::int64_t room) const {
  std::int64_t all = 1;
  for (const std::vector<TemporalFactors>& turns : turns_) {
    all = saturated_product(all, static_cast<std::int64_t>(turns.size()));
  }
  if (all > tuning::kMostListed) {
    return all;
  }
  std::vector<const TemporalFactors*> chosen;
  const std::int64_t wide = room - cut.result_wide;
  if (cut.result == cut.result_wide) {
    return count_within(chosen, wide, true);
  }
  return count_within(chosen, room - cut.result, false) + count_within(chosen, wide, true) -
         count_within(chosen, wide, false);
}

std::int64_t TemporalFactorLists::least(std::size_t slot) const {
  std::int64_t space = turns_[slot].front().space;
  for (const TemporalFactors& turn : turns_[slot]) {
    space = std::min(space, turn.space);
  }
  return space;
}

std::int64_t TemporalFactorLists::least_space(const Cut& cut) const {
  std::int64_t whole = 0;
  for (const std::vector<TemporalFactors>& turns : turns_) {
    whole += turns.front().space;
  }
  std::vector<const TemporalFactors*> chosen;
  const std::int64_t narrow = cut.result + least_within(chosen, whole, false);
  return std::min(narrow, cut.result_wide + least_within(chosen, whole, true));
}

void TemporalFactorLists::coarsen(std::int64_t most) {
  std::vector<std::size_t> slots(turns_.size());
  std::iota(slots.begin(), slots.end(), std::size_t{0});
  std::stable_sort(slots.begin(), slots.end(), [&](std::size_t a, std::size_t b) {
    return turns_[a].front().space > turns_[b].front().space;
  });
  std::int64_t product = 1;
  for (const std::size_t slot : slots) {
    const auto count = static_cast<std::int64_t>(turns_[slot].size());
    if (saturated_product(product, count) > most) {
      turns_[slot].resize(1);
    } else {
      product *= count;
    }
  }
}

}  // namespace elk::cost
