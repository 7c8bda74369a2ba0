#include "elk/cost/floor.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <tuple>

#include "elk/base/rounding.hpp"
#include "elk/partition/plan.hpp"

namespace elk::cost {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

bool covers(const Corner& a, const Corner& b) {
  return a.execute <= b.execute && a.link <= b.link && a.hbm_bytes <= b.hbm_bytes;
}

}  // namespace

FloorSearch::FloorSearch(Pricer& pricer, Rates& rates, std::int64_t cores)
    : pricer_(pricer),
      rates_(rates),
      cores_(cores),
      compute_(kUnlimited),
      lengths_(pricer.size().size()),
      size_(pricer.size().size()),
      best_(kUnlimited) {}

Corner FloorSearch::corner(const Cut& cut, double compute) const {
  std::int64_t received = 0;
  for (std::size_t i = 0; i < pricer_.slots().size(); ++i) {
    const Slot& slot = pricer_.slots()[i];
    std::int64_t times = slot.hbm && !slot.indirect ? cut.held[i].sharers : 0;
    if (slot.write) {
      times = 1;
      for (std::size_t axis = 0; axis < cut.factor.size(); ++axis) {
        times *= (((pricer_.summed() & ~slot.contained) >> axis) & 1U) != 0 ? cut.factor[axis] : 1;
      }
      times -= 1;
    }
    received += times * partition::element_bytes(slot.unique, slot.bits).value;
  }
  return {.execute = {compute + cut.reduce.time.value},
          .link = {received / cores_},
          .hbm_bytes = pricer_.least_hbm()};  // A chip may lack what rotates in from another.
}

bool FloorSearch::excluded(const Corner& corner) const {
  return std::any_of(corners_.begin(), corners_.end(),
                     [&](const Corner& kept) { return covers(kept, corner); });
}

void FloorSearch::keep(const Corner& corner) {
  if (!excluded(corner)) {
    std::erase_if(corners_, [&](const Corner& kept) { return covers(corner, kept); });
    corners_.push_back(corner);
  }
}

/// Below which time of its tiles a cut changes what is known.
double FloorSearch::limit(const Cut& cut) const {
  const Corner free = corner(cut, 0.0);
  double execute = kUnlimited;
  for (const Corner& kept : corners_) {
    if (kept.link <= free.link && kept.hbm_bytes <= free.hbm_bytes) {
      execute = std::min(execute, kept.execute.value);
    }
  }
  return std::max(compute_, execute - free.execute.value);
}

bool FloorSearch::skips(const Cut& cut, double least) const { return least >= limit(cut); }

bool FloorSearch::add(const Cut& cut, Turns& turns) {
  const double least = rates_.least(cut.tile);
  const double most = limit(cut);
  if (least >= most) {
    return true;
  }
  const double whole = pricer_.tiles().sub_task(cut.tile);
  best_ = whole;
  if (rates_.gain() * whole < most) {
    list_paces(cut, turns);
    size_ = cut.tile;
    split(0, {.count = 1.0, .volume = rates_.volume(cut.tile), .rate = rates_.rate(cut.tile)},
          most);
  }
  if (best_ < most) {
    compute_ = std::min(compute_, best_);
    keep(corner(cut, best_));
  }
  return rates_.holds(best_, least, whole);
}

/// Every length of the sub-tasks along each axis to which some operand's rotation could lead.
void FloorSearch::list_lengths(const Cut& cut, Turns& turns) {
  for (std::size_t axis = 0; axis < lengths_.size(); ++axis) {
    lengths_[axis].assign(1, cut.tile[axis]);
  }
  for (std::size_t i = 0; i < pricer_.reads(); ++i) {
    for (const SlotDim& dim : pricer_.slots()[i].dims) {
      if (!dim.rotates) {
        continue;
      }
      std::vector<std::int64_t>& lengths = lengths_[static_cast<std::size_t>(dim.axes[0])];
      for (const std::int64_t d : turns.divisors(cut.held[i].sharers)) {
        lengths.push_back(ceil_div(lengths.front(), d));
      }
    }
  }
}

void FloorSearch::list_paces(const Cut& cut, Turns& turns) {
  list_lengths(cut, turns);
  paces_.clear();
  for (std::size_t axis = 0; axis < lengths_.size(); ++axis) {
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
/// every pace of the axes from number `at` on.
void FloorSearch::split(std::size_t at, const Steps& steps, double limit) {
  if (steps.rate * steps.volume >= std::min(best_, limit)) {
    return;  // Shorter sub-tasks are no better.
  }
  if (at == paces_.size()) {
    best_ = std::min(best_, steps.count * pricer_.tiles().sub_task(size_));
    return;
  }
  const std::size_t axis = paces_[at].axis;
  for (const Pace& pace : paces_[at].paces) {
    size_[axis] = pace.length;
    split(at + 1,
          {.count = steps.count * pace.count,
           .volume = steps.volume * pace.growth,
           .rate = std::max(steps.rate, pace.rate)},
          limit);
  }
}

Floor FloorSearch::result() const {
  Floor floor{.execute = {0.0}, .compute = {0.0}, .link = {0}, .hbm_bytes = 0, .corners = corners_};
  std::sort(floor.corners.begin(), floor.corners.end(), [](const Corner& a, const Corner& b) {
    return std::tie(a.execute, a.link, a.hbm_bytes) < std::tie(b.execute, b.link, b.hbm_bytes);
  });
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
