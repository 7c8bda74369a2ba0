#include "elk/cost/floor/floor_search.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <tuple>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/plan.hpp"

namespace elk::cost {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

bool covers(const Corner& a, const Corner& b) {
  return a.execute <= b.execute && a.link <= b.link && a.hbm_bytes <= b.hbm_bytes;
}

bool covers(const PortUse& a, const PortUse& b) {
  return a.idle <= b.idle && a.carried <= b.carried && a.loaded <= b.loaded;
}

/// Adds to a Pareto front.
template <class Need>
void add_to(std::vector<Need>& kept, const Need& need) {
  if (std::none_of(kept.begin(), kept.end(),
                   [&](const Need& other) { return covers(other, need); })) {
    std::erase_if(kept, [&](const Need& other) { return covers(need, other); });
    kept.push_back(need);
  }
}

}  // namespace

FloorSearch::FloorSearch(Pricer& pricer, tile::TileRates& rates, std::int64_t cores, bool coarse)
    : pricer_(pricer),
      rates_(rates),
      cores_(cores),
      room_(chip::room(pricer.chip()).value),
      coarse_(coarse),
      activation_floor_(pricer),
      compute_(kUnlimited),
      lengths_(pricer.size().size()),
      size_(pricer.size().size()),
      best_(kUnlimited) {}

/// `cores`: how many the cut uses at most.
Corner FloorSearch::corner(const Cut& cut, double compute, std::int64_t cores) const {
  const std::int64_t moved = activation_floor_.moved(cut);
  std::int64_t summed = 0;
  double reduced = 0.0;
  for (const Slot& slot : pricer_.slots()) {
    const std::int64_t parts = slot.write ? pricer_.parts_of(cut, slot) : 1;
    if (parts > 1) {
      summed += partials(slot, parts);
      reduced += activation_floor_.reduced(parts, partials(slot, parts), cores);
    }
  }
  const double seconds = compute + activation_floor_.seconds(moved, cores) +
                         std::max(reduced * kRoundedDown, cut.reduce.time.value);
  return {.execute = {seconds},
          .link = {(moved + summed + loaded(cut)) / cores_},
          .hbm_bytes = pricer_.least_hbm()};  // A chip may lack what rotates in from another.
}

/// Bytes of `parts` partial results that all cores receive: each all but its own part of a tile,
/// and tiles are no smaller than the result shared evenly. They travel at the width of their sums.
std::int64_t FloorSearch::partials(const Slot& slot, std::int64_t parts) const {
  const std::int64_t bits = std::max(ir::bits(pricer_.op().accumulate), slot.bits);
  return (parts - 1) * (slot.unique * bits / 8);
}

/// Bytes of HBM operands that all cores receive, at execute size: of what an index picks, as many
/// as are expected. Without HBM they lie there from the start.
std::int64_t FloorSearch::loaded(const Cut& cut) const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < pricer_.reads(); ++i) {
    sum += cut.held[i].sharers * pricer_.read_bytes(i);
  }
  return sum;
}

/// What rotates may come in shifts, beside no compute: its bytes do not count.
PortUse FloorSearch::port_use(const Cut& cut, double compute) const {
  std::int64_t received = activation_floor_.moved(cut);
  const double idle = compute + activation_floor_.still(received) +
                      std::max(0.0, cut.reduce.time.value - cut.reduce.wire.value);
  for (const Slot& slot : pricer_.slots()) {
    received += slot.write ? partials(slot, pricer_.parts_of(cut, slot)) : 0;
  }
  return {.idle = {idle},
          .carried = {received / cores_},
          .loaded = {coarse_ ? 0 : loaded(cut) / cores_}};
}

void FloorSearch::keep(const Corner& corner) { add_to(corners_, corner); }

void FloorSearch::keep(const PortUse& use) { add_to(port_uses_, use); }

/// Below which time of its tiles a cut changes what is known, if shifts take `shifted` beside.
double FloorSearch::limit(const Cut& cut, std::int64_t cores, double shifted) const {
  const Corner free = corner(cut, 0.0, cores);
  double execute = kUnlimited;
  for (const Corner& kept : corners_) {
    if (kept.link <= free.link && kept.hbm_bytes <= free.hbm_bytes) {
      execute = std::min(execute, kept.execute.value);
    }
  }
  const PortUse still = port_use(cut, 0.0);
  double idle = kUnlimited;
  for (const PortUse& kept : port_uses_) {
    if (kept.carried <= still.carried && kept.loaded <= still.loaded) {
      idle = std::min(idle, kept.idle.value);
    }
  }
  return std::max(std::max(compute_, execute - free.execute.value) - shifted,
                  idle - still.idle.value);
}

/// `least >= limit(cut, cores_, 0)`, told by the first that says so of what is known.
bool FloorSearch::skips(const Cut& cut, double least) const {
  if (least < compute_) {
    return false;
  }
  const Corner free = corner(cut, 0.0, cores_);
  if (std::none_of(corners_.begin(), corners_.end(), [&](const Corner& kept) {
        return kept.link <= free.link && kept.hbm_bytes <= free.hbm_bytes &&
               kept.execute.value - free.execute.value <= least;
      })) {
    return false;
  }
  const PortUse still = port_use(cut, 0.0);
  return std::any_of(port_uses_.begin(), port_uses_.end(), [&](const PortUse& kept) {
    return kept.carried <= still.carried && kept.loaded <= still.loaded &&
           kept.idle.value - still.idle.value <= least;
  });
}

bool FloorSearch::add(const Cut& cut, const tile::TileTime& whole, TemporalFactorLists& turns) {
  const double least = rates_.least(cut.tile);
  const double shifted = activation_floor_.wire(overflow(cut));
  const double most = limit(cut, cut.cores, shifted);
  if (least >= most) {
    return true;
  }
  time_tiles(cut, whole, turns, most);
  if (best_ < most) {
    compute_ = std::min(compute_, best_);
    keep(corner(cut, best_ + shifted, cut.cores));
    keep(port_use(cut, best_));
  }
  return rates_.holds(best_, least, whole);
}

FloorSearch::LeastTime FloorSearch::least(const Cut& cut, const tile::TileTime& whole,
                                          TemporalFactorLists& turns, double limit, bool steps) {
  const double exchanges = ports(cut, 0.0);
  const double tiles = rates_.least(cut.tile);
  if (tiles + exchanges >= limit) {
    return {.execute = limit, .whole = limit, .ports = limit, .sound = true};
  }
  tells_steps_ = steps;
  by_steps_.fill(limit - exchanges);
  time_tiles(cut, whole, turns, limit - exchanges);
  tells_steps_ = false;
  const double beside =
      corner(cut, 0.0, cut.cores).execute.value + activation_floor_.wire(overflow(cut));
  TimeOfSteps turned = by_steps_;
  for (double& time : turned) {
    time += beside;
  }
  return {.execute = beside + best_,
          .whole = roomy_ ? beside + whole.time : kUnlimited,
          .turned = turned,
          .ports = std::min(beside + best_, ports(cut, best_)),
          .sound = rates_.holds(best_, tiles, whole)};
}

double FloorSearch::ports(const Cut& cut, double compute) const {
  const PortUse use = port_use(cut, compute);
  return use.idle.value + activation_floor_.wire(use.carried.value);
}

/// The cheapest way through the tiles of a cut, if it takes less than `limit`: in `best_`.
void FloorSearch::time_tiles(const Cut& cut, const tile::TileTime& whole,
                             TemporalFactorLists& turns, double limit) {
  roomy_ = fits(cut, cut.tile);
  best_ = roomy_ ? whole.time : kUnlimited;
  if (rates_.gain(whole) * whole.time < limit) {
    list_paces(cut, turns);
    size_ = cut.tile;
    split(0, {.count = 1.0, .volume = rates_.volume(cut.tile), .rate = rates_.rate(cut.tile)},
          limit, cut);
  }
}

/// Whether a core has room for what a step on a sub-task of `size` reads, and for the results. What
/// two operands read of one activation may lie in one place.
bool FloorSearch::fits(const Cut& cut, TableView<AxisId, const std::int64_t> size) const {
  std::int64_t space = std::min(cut.result, cut.result_wide);
  for (std::size_t i = 0; i < pricer_.reads(); ++i) {
    const Slot& slot = pricer_.slots()[i];
    if (!slot.again) {
      std::int64_t elements = 1;
      for (const DimId dim : slot.dims.ids()) {
        elements *= least_extent(cut, i, dim, size);
      }
      space += partition::element_bytes(elements, slot.bits).value;
    }
  }
  return space <= room_;
}

/// Bytes of HBM operands that have no room in a core: shifts bring them.
std::int64_t FloorSearch::overflow(const Cut& cut) const {
  return std::max<std::int64_t>(
      0, held_from_hbm(pricer_, cut) + std::min(cut.result, cut.result_wide) - room_);
}

std::int64_t held_from_hbm(const Pricer& pricer, const Cut& cut) {
  std::int64_t space = 0;
  for (std::size_t i = 0; i < pricer.reads(); ++i) {
    const Slot& slot = pricer.slots()[i];
    const bool mapped = std::any_of(slot.dims.begin(), slot.dims.end(), [](const SlotDim& dim) {
      return dim.kind == SlotDimKind::Mapped || dim.picks;
    });
    if (slot.hbm && !mapped) {
      space += partition::element_bytes(cut.held[i].elements, slot.bits).value;
    }
  }
  return space;
}

/// Indices of a dimension that a sub-task reads at least.
std::int64_t FloorSearch::least_extent(const Cut& cut, std::size_t slot, DimId dim,
                                       TableView<AxisId, const std::int64_t> size) const {
  const SlotDim& map = pricer_.slots()[slot].dims[dim];
  bool whole = true;
  std::int64_t product = 1;
  for (const AxisId axis : map.axes) {
    whole = whole && size[axis] == cut.tile[axis];
    product *= size[axis];
  }
  if (whole) {
    return cut.held[slot].extent[dim.index()].count;
  }
  const bool counted = map.kind == SlotDimKind::Plain || map.kind == SlotDimKind::Product;
  return counted && !map.picks ? std::min(map.shape, product) : 1;
}

/// Every length of the sub-tasks along each axis to which some operand's rotation could lead.
void FloorSearch::list_lengths(const Cut& cut, TemporalFactorLists& turns) {
  for (const AxisId axis : lengths_.ids()) {
    lengths_[axis].assign(1, cut.tile[axis]);
  }
  for (std::size_t i = 0; i < pricer_.reads(); ++i) {
    for (const SlotDim& dim : pricer_.slots()[i].dims) {
      if (!dim.rotates) {
        continue;
      }
      std::vector<std::int64_t>& lengths = lengths_[dim.axes[0]];
      for (const std::int64_t d : turns.divisors(cut.held[i].sharers)) {
        lengths.push_back(ceil_div(lengths.front(), d));
      }
    }
  }
}

void FloorSearch::list_paces(const Cut& cut, TemporalFactorLists& turns) {
  list_lengths(cut, turns);
  paces_.clear();
  for (AxisId axis{0}; axis.index() < lengths_.size(); ++axis) {
    std::vector<std::int64_t>& lengths = lengths_[axis];
    std::sort(lengths.begin(), lengths.end(), std::greater<>());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
    if (lengths.size() == 1) {
      continue;
    }
    Paces& paces = paces_.emplace_back(Paces{.axis = axis, .paces = {}});
    const auto tile = static_cast<double>(cut.tile[axis]);
    for (const std::int64_t length : lengths) {
      const auto count = static_cast<double>(ceil_div(cut.tile[axis], length));
      paces.paces.push_back({.length = length,
                             .count = count,
                             .growth = count * static_cast<double>(length) / tile,
                             .rate = rates_.rate(axis, length)});
    }
  }
}

/// The cheapest way through the tiles of a cut in equal steps, if it takes less than `limit`: tries
/// every pace of the axes from number `at` on. After every step but the last something shifts.
void FloorSearch::split(std::size_t at, const StepTotals& steps, double limit, const Cut& cut) {
  if (at == paces_.size()) {
    if (roomy_ || fits(cut, size_)) {
      take(steps.count, (steps.count * pricer_.tiles().sub_task(size_)) +
                            ((steps.count - 1.0) * activation_floor_.shift()));
    }
    return;
  }
  const AxisId axis = paces_[at].axis;
  for (const Pace& pace : paces_[at].paces) {
    const double count = steps.count * pace.count;
    const double shifts = (count - 1.0) * activation_floor_.shift();
    const double rate = std::max(steps.rate, pace.rate);
    const double volume = steps.volume * pace.growth;
    const double known = tells_steps_ ? limit : std::min(best_, limit);
    if ((rate * steps.volume) + shifts >= known) {
      return;  // A shorter one is no better: more steps, at a higher rate.
    }
    if ((rate * volume) + shifts < known) {
      size_[axis] = pace.length;
      split(at + 1, {.count = count, .volume = volume, .rate = rate}, limit, cut);
    }
  }
}

/// Counts a way through the tiles of a cut, in so many steps.
void FloorSearch::take(double steps, double time) {
  best_ = std::min(best_, time);
  for (std::size_t told = 0; told < kStepsTold.size(); ++told) {
    if (steps >= static_cast<double>(kStepsTold[told])) {
      by_steps_[told] = std::min(by_steps_[told], time);
    }
  }
}

Floor FloorSearch::result() const {
  Floor floor{.execute = {0.0},
              .compute = {0.0},
              .link = {0},
              .hbm_bytes = 0,
              .corners = corners_,
              .port_uses = port_uses_,
              .layout_floor = nullptr,
              .sram_floors = {}};
  std::sort(floor.corners.begin(), floor.corners.end(), [](const Corner& a, const Corner& b) {
    return std::tie(a.execute, a.link, a.hbm_bytes) < std::tie(b.execute, b.link, b.hbm_bytes);
  });
  std::sort(floor.port_uses.begin(), floor.port_uses.end(),
            [](const PortUse& a, const PortUse& b) { return a.idle < b.idle; });
  if (!corners_.empty()) {
    floor.compute = {compute_};
    floor.execute = floor.corners.front().execute;
    floor.link = floor.corners.front().link;
    floor.hbm_bytes = floor.corners.front().hbm_bytes;
    for (const Corner& corner : floor.corners) {
      floor.link = std::min(floor.link, corner.link);
      floor.hbm_bytes = std::min(floor.hbm_bytes, corner.hbm_bytes);
    }
  }
  return floor;
}

}  // namespace elk::cost
