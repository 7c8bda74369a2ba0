#include "elk/cost/floor.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <tuple>

#include "elk/base/rounding.hpp"
#include "elk/cost/rate.hpp"
#include "elk/partition/plan.hpp"

namespace elk::cost {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostCombinations = 4096;

bool covers(const Corner& a, const Corner& b) {
  return a.execute <= b.execute && a.link <= b.link && a.hbm_bytes <= b.hbm_bytes;
}

}  // namespace

FloorSearch::FloorSearch(const ir::Op& op, Pricer& pricer, std::int64_t cores)
    : op_(op), pricer_(pricer), cores_(cores), compute_(kUnlimited), paces_(op.axes.size()) {}

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

bool FloorSearch::add(const Cut& cut, Turns& turns, double rate) {
  const double volume = cost::volume(op_, cut.tile);
  const double least = rate * volume;
  if (least >= compute_ && excluded(corner(cut, least))) {
    return true;
  }
  const double compute = cheapest(cut, turns, least);
  compute_ = std::min(compute_, compute);
  keep(corner(cut, compute));
  return compute >= least;
}

/// The cheapest way through the tiles of a cut in equal steps.
double FloorSearch::cheapest(const Cut& cut, Turns& turns, double least) {
  std::size_t combinations = 1;
  for (std::vector<std::int64_t>& paces : paces_) {
    paces.clear();
  }
  for (std::size_t axis = 0; axis < paces_.size(); ++axis) {
    paces_[axis].push_back(cut.tile[axis]);
  }
  for (std::size_t i = 0; i < pricer_.reads(); ++i) {
    for (const SlotDim& dim : pricer_.slots()[i].dims) {
      if (dim.rotates) {
        std::vector<std::int64_t>& paces = paces_[static_cast<std::size_t>(dim.axes[0])];
        for (const std::int64_t d : turns.divisors(cut.held[i].sharers)) {
          paces.push_back(ceil_div(paces.front(), d));
        }
      }
    }
  }
  for (std::vector<std::int64_t>& paces : paces_) {
    std::sort(paces.begin(), paces.end(), std::greater<>());
    paces.erase(std::unique(paces.begin(), paces.end()), paces.end());
    combinations *= paces.size();
  }
  if (combinations > kMostCombinations) {
    return least;
  }
  std::vector<std::size_t> at(paces_.size(), 0);
  std::vector<std::int64_t> size(paces_.size());
  double best = kUnlimited;
  for (bool more = true; more;) {
    std::int64_t steps = 1;
    for (std::size_t axis = 0; axis < size.size(); ++axis) {
      size[axis] = paces_[axis][at[axis]];
      steps *= ceil_div(cut.tile[axis], size[axis]);
    }
    best = std::min(best, static_cast<double>(steps) * pricer_.tiles().sub_task(size));
    more = false;
    for (std::size_t axis = at.size(); axis-- > 0 && !more;) {
      more = ++at[axis] < paces_[axis].size();
      at[axis] = more ? at[axis] : 0;
    }
  }
  return best;
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
