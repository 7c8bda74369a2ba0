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

FloorSearch::FloorSearch(const ir::Op& op, Pricer& pricer, const Rates& rates, std::int64_t cores)
    : pricer_(pricer),
      rates_(rates),
      cores_(cores),
      compute_(kUnlimited),
      paces_(op.axes.size()),
      size_(op.axes.size()),
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
          .hbm_bytes = cut.chip_hbm};
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
double FloorSearch::worth(const Corner& corner) const {
  double execute = kUnlimited;
  for (const Corner& kept : corners_) {
    if (kept.link <= corner.link && kept.hbm_bytes <= corner.hbm_bytes) {
      execute = std::min(execute, kept.execute.value);
    }
  }
  return execute;
}

bool FloorSearch::add(const Cut& cut, Turns& turns) {
  const double least = rates_.least(cut.tile);
  const Corner free = corner(cut, 0.0);
  const double limit = std::max(compute_, worth(free) - free.execute.value);
  if (least >= limit) {
    return true;
  }
  list_paces(cut, turns);
  size_ = cut.tile;
  best_ = kUnlimited;
  split(cut, 0, 1, limit);
  if (best_ < kUnlimited) {
    compute_ = std::min(compute_, best_);
    keep(corner(cut, best_));
  }
  return best_ >= least;
}

/// Every length of the sub-tasks along each axis to which some operand's rotation could lead.
void FloorSearch::list_paces(const Cut& cut, Turns& turns) {
  for (std::size_t axis = 0; axis < paces_.size(); ++axis) {
    paces_[axis].assign(1, cut.tile[axis]);
  }
  for (std::size_t i = 0; i < pricer_.reads(); ++i) {
    const std::int64_t sharers = cut.held[i].sharers;
    for (const SlotDim& dim : pricer_.slots()[i].dims) {
      if (dim.rotates && sharers > 1) {
        std::vector<std::int64_t>& paces = paces_[static_cast<std::size_t>(dim.axes[0])];
        for (const std::int64_t d : turns.divisors(sharers)) {
          paces.push_back(ceil_div(paces.front(), d));
        }
      }
    }
  }
  for (std::vector<std::int64_t>& paces : paces_) {
    if (paces.size() > 1) {
      std::sort(paces.begin(), paces.end(), std::greater<>());
      paces.erase(std::unique(paces.begin(), paces.end()), paces.end());
    }
  }
}

/// The cheapest way through the tiles of a cut in equal steps, if it takes less than `limit`: tries
/// every pace of `axis` and those after it.
void FloorSearch::split(const Cut& cut, std::size_t axis, std::int64_t steps, double limit) {
  const auto times = static_cast<double>(steps);
  if (times * rates_.least(size_) >= std::min(best_, limit)) {
    return;  // Shorter sub-tasks are no better.
  }
  if (axis == size_.size()) {
    best_ = std::min(best_, times * pricer_.tiles().sub_task(size_));
    return;
  }
  for (const std::int64_t pace : paces_[axis]) {
    size_[axis] = pace;
    split(cut, axis + 1, steps * ceil_div(cut.tile[axis], pace), limit);
  }
  size_[axis] = cut.tile[axis];
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
