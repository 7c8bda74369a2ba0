#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "elk/emulate/kernels/pack.hpp"
#include "elk/emulate/kernels/rows.hpp"
#include "elk/emulate/kernels/width.hpp"

namespace elk::emulate {
namespace {

/// Sums or products of what stands before each element of a row, itself included unless exclusive.
template <class Wide>
std::vector<Wide> scanned_rows(const KernelCall& tile) {
  const AxesByRole parts = folded(tile, ir::AxisRole::Row);
  std::vector<Wide> x = pack<Wide>(tile, 0, parts.both).value;
  const bool exclusive = tile.op.scalars[0] != 0;
  const bool backwards = tile.op.scalars[1] != 0;
  const bool products = tile.op.function == "cumprod";
  const auto length = static_cast<std::size_t>(parts.over.count());
  for (std::size_t begin = 0; begin < x.size(); begin += length) {
    Wide total = products ? Wide{1} : Wide{0};
    for (std::size_t i = 0; i < length; ++i) {
      Wide& value = x[begin + (backwards ? length - 1 - i : i)];
      const auto next = static_cast<Wide>(products ? total * value : total + value);
      value = exclusive ? total : next;
      total = next;
    }
  }
  return regrouped(std::move(x), parts.both, result_points(tile));
}

/// The points that a TopK sorts, and those that it gives. A row may be several axes, where the
/// input is a view that steps along it in more than one way.
struct TopkAxes {
  AxisRanges from;
  AxisRanges to;
  std::int64_t length = 1;  // of a row of `from`
  std::int64_t k = 1;       // of a row of `to`

  TopkAxes(const KernelCall& tile, const AxesByRole& parts) : from(parts.kept), to(parts.kept) {
    const AxisRanges wanted = result_points(tile);
    for (std::size_t i = 0; i < parts.over.axes.size(); ++i) {
      const std::int32_t axis = parts.over.axes[i];
      const bool counts =
          std::find(wanted.axes.begin(), wanted.axes.end(), axis) != wanted.axes.end();
      AxisRanges& points = counts ? to : from;
      points.axes.push_back(axis);
      points.ranges.push_back(parts.over.ranges[i]);
      (counts ? k : length) *= parts.over.ranges[i].length();
    }
  }
};

/// The rows of a TopK: sorted along the row axes that no result runs along; the other row axis, if
/// more than one element is taken, counts what is taken.
template <class Wide>
std::vector<Numbers> sorted_rows(const KernelCall& tile) {
  const AxesByRole parts = folded(tile, ir::AxisRole::Row);
  const auto [from, to, length, k] = TopkAxes(tile, parts);
  const std::vector<Wide> x = pack<Wide>(tile, 0, from).value;
  const bool largest = tile.op.scalars[1] != 0;
  std::vector<Wide> found;
  std::vector<std::int64_t> places;
  std::vector<std::int64_t> order(static_cast<std::size_t>(length));
  for (std::int64_t row = 0; row < parts.kept.count(); ++row) {
    const Wide* values = x.data() + (row * length);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return largest ? values[a] > values[b] : values[a] < values[b];
    });
    for (std::int64_t i = 0; i < k; ++i) {
      places.push_back(order[static_cast<std::size_t>(i)]);
      found.push_back(values[places.back()]);
    }
  }
  const AxisRanges wanted = result_points(tile);
  return {regrouped(std::move(found), to, wanted), regrouped(std::move(places), to, wanted)};
}

}  // namespace

Numbers scanned(const KernelCall& tile) {
  return with_width(tile, [&](auto wide) { return Numbers(scanned_rows<decltype(wide)>(tile)); });
}

std::vector<Numbers> top_k(const KernelCall& tile) {
  return with_width(tile, [&](auto wide) { return sorted_rows<decltype(wide)>(tile); });
}

}  // namespace elk::emulate
