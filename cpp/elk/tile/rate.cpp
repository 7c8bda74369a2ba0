#include "elk/tile/rate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/rounding.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/plan.hpp"

namespace elk::tile {
namespace {

constexpr std::int64_t kBlock = 16;  // tiles are timed by blocks: whole ones are cheapest
constexpr int kTrials = 1500;
constexpr int kSplits = 2;
constexpr int kFewTurns = kTrials / 4;
constexpr std::int64_t kMostSteps = 8;
constexpr double kSlack = 0.95;

/// Lengths of an axis from the whole downwards to one, the fewer the more axes there are.
std::vector<std::int64_t> samples(std::int64_t size, std::size_t axes) {
  constexpr std::array<std::size_t, 6> kCounts{4, 4, 4, 4, 2, 2};
  const std::size_t count = axes < kCounts.size() ? kCounts[axes] : 1;
  std::vector<std::int64_t> result;
  std::int64_t value = size;
  for (std::size_t i = 0; i < count && value > 1; ++i) {
    const std::int64_t blocks = value >= kBlock && i > 0 ? value / kBlock * kBlock : value;
    if (result.empty() || blocks < result.back()) {
      result.push_back(blocks);
    }
    value /= 4;
  }
  result.push_back(1);
  return result;
}

/// The next tuple of indices into `choices`, or false after the last.
bool advance(std::vector<std::size_t>& at, const std::vector<std::vector<std::int64_t>>& choices) {
  for (std::size_t axis = at.size(); axis-- > 0;) {
    if (++at[axis] < choices[axis].size()) {
      return true;
    }
    at[axis] = 0;
  }
  return false;
}

/// The axes, a bit each, that some operand rotates along: only along them are there steps.
std::uint64_t rotated(const ir::Op& op) {
  std::uint64_t axes = 0;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    for (std::size_t dim = 0; dim < op.operands[i].dims.size(); ++dim) {
      if (partition::rotates(op, i, dim)) {
        axes |= std::uint64_t{1} << subscript(op.operands[i].dims[dim].axes.front());
      }
    }
  }
  return axes;
}

}  // namespace

void TileRates::AxisRates::put(std::int64_t length, double rate) {
  const auto index = static_cast<std::size_t>(length <= root ? length : ceil_div(size, length));
  std::vector<double>& rates = length <= root ? shorter : longer;
  rates[index] = rate;
}

TileRates::TileRates(const ir::Op& op, TileTimes& tiles) : TileRates(op, tiles, Learning::All) {}

double TileRates::least_whole(const ir::Op& op, TileTimes& tiles) {
  return TileRates(op, tiles, Learning::NoGain).least(partition::sizes(op));
}

TileRates::TileRates(const ir::Op& op, TileTimes& tiles, Learning learns) {
  std::vector<std::vector<std::int64_t>> others;
  place_.assign(op.axes.size(), -1);
  for (std::size_t axis = 0; axis < op.axes.size(); ++axis) {
    if (op.axes[axis].tile_dim != ir::TileDim::None && op.axes[axis].size > 1) {
      counted_.push_back(axis);
    }
  }
  for (std::size_t axis = 0; axis < op.axes.size(); ++axis) {
    const bool counts = std::find(counted_.begin(), counted_.end(), axis) != counted_.end();
    others.push_back(counts ? samples(op.axes[axis].size, counted_.size())
                            : std::vector<std::int64_t>{op.axes[axis].size});
  }
  for (const std::size_t axis : counted_) {
    const std::int64_t size = op.axes[axis].size;
    const auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(size)));
    const std::vector<double> none(static_cast<std::size_t>(root) + 3, 0.0);
    axes_.push_back(
        {.axis = axis, .size = size, .root = root, .shorter = none, .longer = none, .factors = {}});
    place_[axis] = static_cast<std::int32_t>(axes_.size()) - 1;
    sample(op, tiles, axes_.back(), others);
  }
  calibrate(op, tiles, learns);
}

/// Lowers the margins below what tiles drawn at random need, whole and in steps along two axes.
/// What steps gain along axes that rotate is asked of those trials that chance on such axes; where
/// they are few, nothing is told apart.
void TileRates::calibrate(const ir::Op& op, TileTimes& tiles, Learning learns) {
  Random random{.state = 1};
  std::vector<std::int64_t> size = partition::sizes(op);
  const std::uint64_t turned = rotated(op);
  int turns = 0;
  for (int trial = 0; trial < kTrials && !axes_.empty(); ++trial) {
    for (const AxisRates& rates : axes_) {
      const auto draw = random.below(static_cast<std::int64_t>(rates.factors.size()));
      size[rates.axis] = ceil_div(rates.size, rates.factors[static_cast<std::size_t>(draw)]);
    }
    const double time = tiles.sub_task(size);
    margin_ = std::min(margin_, kSlack * margin_ * time / least(size));
    const std::vector<std::int64_t> whole = size;
    bool turn = true;
    std::int64_t steps = 1;
    for (int split = 0; split < kSplits; ++split) {
      const std::int64_t drawn = random.below(static_cast<std::int64_t>(axes_.size()));
      const std::size_t axis = axes_[static_cast<std::size_t>(drawn)].axis;
      const std::int64_t pace = ceil_div(size[axis], 1 + random.below(kMostSteps));
      steps *= ceil_div(size[axis], pace);
      size[axis] = pace;
      turn = turn && ((turned >> axis) & 1U) != 0;
    }
    if (learns == Learning::NoGain) {
      continue;
    }
    const double gain = kSlack * static_cast<double>(steps) * tiles.sub_task(size) / time;
    gain_ = std::min(gain_, gain);
    if (turn) {
      double& least = tiles.extrapolated(whole) ? turn_gains_.beyond : turn_gains_.within;
      least = std::min(least, gain);
      ++turns;
    }
  }
  if (turns < kFewTurns) {
    turn_gains_ = {.within = gain_, .beyond = gain_};
  }
}

void TileRates::sample(const ir::Op& op, TileTimes& tiles, AxisRates& rates,
                       const std::vector<std::vector<std::int64_t>>& others) {
  std::vector<std::vector<std::int64_t>> choices = others;
  choices[rates.axis] = {1};
  rates.factors = partition::distinct_factors(rates.size, rates.size);
  std::reverse(rates.factors.begin(), rates.factors.end());  // Short lengths first.
  double best = std::numeric_limits<double>::infinity();
  std::vector<std::int64_t> size(op.axes.size());
  for (const std::int64_t factor : rates.factors) {
    choices[rates.axis].front() = ceil_div(rates.size, factor);
    std::vector<std::size_t> at(choices.size(), 0);
    do {
      double volume = 1.0;
      for (std::size_t axis = 0; axis < size.size(); ++axis) {
        size[axis] = choices[axis][at[axis]];
      }
      for (const std::size_t axis : counted_) {
        volume *= static_cast<double>(size[axis]);
      }
      best = std::min(best, tiles.sub_task(size) / volume);
    } while (advance(at, choices));
    rates.put(choices[rates.axis].front(), best);
  }
}

bool TileRates::holds(double time, double least, const TileTime& whole) {
  const bool by_rate = time >= least * kRoundedDown;
  if (!by_rate) {
    margin_ *= kSlack * time / least;
  }
  bool by_gain = true;
  for (double* gain : {&gain_, whole.beyond ? &turn_gains_.beyond : &turn_gains_.within}) {
    if (time < *gain * whole.time * kRoundedDown) {
      *gain = kSlack * time / whole.time;
      by_gain = false;
    }
  }
  return by_rate && by_gain;
}

double TileRates::rate(std::span<const std::int64_t> size) const {
  double rate = 0.0;
  for (const AxisRates& rates : axes_) {
    rate = std::max(rate, rates.at(size[rates.axis]));
  }
  return margin_ * rate;
}

double TileRates::volume(std::span<const std::int64_t> size) const {
  double volume = 1.0;
  for (const AxisRates& rates : axes_) {
    volume *= static_cast<double>(size[rates.axis]);
  }
  return volume;
}

}  // namespace elk::tile
