#include "elk/cost/turns.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "elk/base/rounding.hpp"
#include "elk/partition/enumerate.hpp"

namespace elk::cost {
namespace {

constexpr std::int64_t kMostListed = 1'000'000;  // combinations of turns that are gone through

}  // namespace

std::int64_t saturated_product(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return b != 0 && a > kMost / b ? kMost : a * b;
}

std::int64_t saturated_sum(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return a > kMost - b ? kMost : a + b;
}

Turns::Turns(const Pricer& pricer, std::int64_t cores)
    : pricer_(pricer),
      turns_(pricer.reads()),
      divisors_(static_cast<std::size_t>(cores) + 1),
      vectors_(kMostRank + 1) {}

const std::vector<std::int64_t>& Turns::divisors(std::int64_t number) {
  std::vector<std::int64_t>& known = divisors_[static_cast<std::size_t>(number)];
  if (known.empty()) {
    known = partition::divisors(number);
  }
  return known;
}

/// Vectors of `dims` factors whose product divides `sharers`.
std::int64_t Turns::vectors(std::size_t dims, std::int64_t sharers) {
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
std::int64_t Turns::sizes(std::int64_t tile, std::int64_t sharers) {
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

std::int64_t Turns::complete(const Cut& cut) {
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

std::int64_t Turns::distinct(const Cut& cut) {
  std::int64_t product = 1;
  for (std::size_t slot = 0; slot < turns_.size(); ++slot) {
    std::int64_t count = 1;
    for (const SlotDim& dim : pricer_.slots()[slot].dims) {
      if (dim.rotates && cut.held[slot].sharers > 1) {
        count += sizes(cut.tile[static_cast<std::size_t>(dim.axes[0])], cut.held[slot].sharers);
      }
    }
    product = saturated_product(product, count);
  }
  return product;
}

void Turns::append(const Cut& cut, std::size_t slot, std::size_t dim) {
  const Slot& read = pricer_.slots()[slot];
  const std::int64_t tile = cut.tile[static_cast<std::size_t>(read.dims[dim].axes[0])];
  std::array<std::int64_t, kMostRank> parts{};
  std::int64_t last = tile;
  for (const std::int64_t d : divisors(cut.held[slot].sharers)) {
    const std::int64_t part = ceil_div(tile, d);
    if (part < last) {
      last = part;
      parts[dim] = d;
      pricer_.split(cut, slot, std::span(parts.data(), read.dims.size()),
                    turns_[slot].emplace_back());
    }
  }
}

void Turns::build(const Cut& cut) {
  for (std::size_t slot = 0; slot < turns_.size(); ++slot) {
    turns_[slot].clear();
    pricer_.split(cut, slot, {}, turns_[slot].emplace_back());
    for (std::size_t dim = 0; dim < pricer_.slots()[slot].dims.size(); ++dim) {
      if (pricer_.slots()[slot].dims[dim].rotates && cut.held[slot].sharers > 1) {
        append(cut, slot, dim);
      }
    }
  }
}

bool Turns::summed(const Turn& turn) const {
  return std::any_of(turn.spin.begin(), turn.spin.begin() + static_cast<std::ptrdiff_t>(turn.spins),
                     [&](const Spin& spin) { return ((pricer_.summed() >> spin.axis) & 1U) != 0; });
}

std::int64_t Turns::count_within(std::size_t slot, std::int64_t room, bool summed_allowed) const {
  if (room < 0) {
    return 0;
  }
  if (slot == turns_.size()) {
    return 1;
  }
  std::int64_t sum = 0;
  for (const Turn& turn : turns_[slot]) {
    if (summed_allowed || !summed(turn)) {
      sum += count_within(slot + 1, room - turn.space, summed_allowed);
    }
  }
  return sum;
}

std::int64_t Turns::fitting(const Cut& cut, std::int64_t room) const {
  std::int64_t all = 1;
  for (const std::vector<Turn>& turns : turns_) {
    all = saturated_product(all, static_cast<std::int64_t>(turns.size()));
  }
  if (all > kMostListed) {
    return all;
  }
  const std::int64_t wide = room - cut.result_wide;
  if (cut.result == cut.result_wide) {
    return count_within(0, wide, true);
  }
  return count_within(0, room - cut.result, false) + count_within(0, wide, true) -
         count_within(0, wide, false);
}

std::int64_t Turns::least(std::size_t slot) const {
  std::int64_t space = turns_[slot].front().space;
  for (const Turn& turn : turns_[slot]) {
    space = std::min(space, turn.space);
  }
  return space;
}

std::int64_t Turns::least_space(const Cut& cut) const {
  std::int64_t narrow = cut.result;
  std::int64_t wide = cut.result_wide;
  for (const std::vector<Turn>& turns : turns_) {
    std::int64_t least = turns.front().space;
    std::int64_t least_narrow = least;
    for (const Turn& turn : turns) {
      least = std::min(least, turn.space);
      least_narrow = summed(turn) ? least_narrow : std::min(least_narrow, turn.space);
    }
    narrow += least_narrow;
    wide += least;
  }
  return std::min(narrow, wide);
}

void Turns::coarsen(std::int64_t most) {
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
