#include "elk/cost/rate.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace elk::cost {
namespace {

constexpr double kMargin = 0.8;
constexpr std::int64_t kBlock = 16;  // tiles are timed by blocks: whole ones are cheapest

/// Sizes from the whole axis downwards, in steps that shrink as there are more axes.
std::vector<std::int64_t> samples(std::int64_t size, std::size_t axes) {
  const std::size_t count = axes <= 3 ? 6 : axes <= 5 ? 4 : 3;
  std::vector<std::int64_t> result;
  std::int64_t value = size;
  for (std::size_t i = 0; i < count && value >= 1; ++i) {
    result.push_back(value >= kBlock && i > 0 ? value / kBlock * kBlock : value);
    value /= axes <= 3 ? 4 : 8;
  }
  return result;
}

}  // namespace

bool in_volume(const ir::Axis& axis) { return axis.tile_dim != ir::TileDim::None; }

double volume(const ir::Op& op, std::span<const std::int64_t> size) {
  double product = 1.0;
  for (std::size_t axis = 0; axis < size.size(); ++axis) {
    product *= in_volume(op.axes[axis]) ? static_cast<double>(size[axis]) : 1.0;
  }
  return product;
}

double best_rate(const ir::Op& op, TileTimes& tiles) {
  const auto counted = static_cast<std::size_t>(
      std::count_if(op.axes.begin(), op.axes.end(),
                    [](const ir::Axis& axis) { return in_volume(axis) && axis.size > 1; }));
  std::vector<std::vector<std::int64_t>> choices;
  for (const ir::Axis& axis : op.axes) {
    choices.push_back(in_volume(axis) ? samples(axis.size, counted)
                                      : std::vector<std::int64_t>{axis.size});
  }
  std::vector<std::size_t> at(choices.size(), 0);
  std::vector<std::int64_t> size(choices.size());
  double best = std::numeric_limits<double>::infinity();
  for (bool more = true; more;) {
    for (std::size_t axis = 0; axis < size.size(); ++axis) {
      size[axis] = choices[axis][at[axis]];
    }
    best = std::min(best, tiles.sub_task(size) / volume(op, size));
    more = false;
    for (std::size_t axis = at.size(); axis-- > 0 && !more;) {
      more = ++at[axis] < choices[axis].size();
      at[axis] = more ? at[axis] : 0;
    }
  }
  return best * kMargin;
}

}  // namespace elk::cost
