#include "elk/partition/extent.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/partition_tuning.hpp"

namespace elk::partition {
namespace {

Extent packed_extent(const ir::Dim& dim, std::int64_t shape,
                     TableView<AxisId, const std::int64_t> size,
                     TableView<AxisId, const std::int64_t> tile) {
  std::int64_t count = 1;
  std::int64_t intervals = 1;
  bool cut = false;  // Whether an axis further in is not whole: every index out here is a new run.
  for (std::size_t i = dim.axes.size(); i-- > 0;) {
    const AxisId axis = dim.axes[i];
    count *= tile[axis];
    intervals *= cut ? tile[axis] : 1;
    cut = cut || tile[axis] < size[axis];
  }
  return {.count = std::min(shape, count), .intervals = std::min(shape, intervals)};
}

/// One clipped box of an index map: the tiles at `index` of its axes.
struct MappedBox {
  const ir::Dim& dim;
  std::int64_t shape;
  std::int64_t step;
  TableView<AxisId, const std::int64_t> size;
  TableView<AxisId, const std::int64_t> tile;

  [[nodiscard]] std::int64_t count(std::span<const std::int64_t> index) const {
    std::int64_t low = dim.offset;
    std::int64_t high = dim.offset;
    std::int64_t product = 1;
    for (std::size_t i = 0; i < dim.axes.size(); ++i) {
      const AxisId axis = dim.axes[i];
      const std::int64_t first = index[i] * tile[axis];
      const std::int64_t last = std::min(size[axis], first + tile[axis]) - 1;
      low += std::min(dim.coef[i] * first, dim.coef[i] * last);
      high += std::max(dim.coef[i] * first, dim.coef[i] * last);
      product *= last - first + 1;
    }
    const std::int64_t span = std::min(high, shape - 1) - std::max(low, std::int64_t{0});
    return span < 0 ? 0 : std::min((span / step) + 1, product);
  }
};

/// The next tuple of a mixed radix, or false after the last.
bool advance(std::vector<std::int64_t>& index, std::span<const std::int64_t> counts) {
  for (std::size_t i = index.size(); i-- > 0;) {
    if (++index[i] < counts[i]) {
      return true;
    }
    index[i] = 0;
  }
  return false;
}

std::int64_t busiest(const MappedBox& mapped, std::span<const std::int64_t> counts) {
  std::vector<std::int64_t> index(counts.size(), 0);
  std::int64_t best = 1;
  do {
    best = std::max(best, mapped.count(index));
  } while (advance(index, counts));
  return best;
}

Extent mapped_extent(const ir::Dim& dim, std::int64_t shape,
                     TableView<AxisId, const std::int64_t> size,
                     TableView<AxisId, const std::int64_t> tile) {
  std::vector<std::int64_t> counts;
  std::int64_t step = 0;
  std::int64_t boxes = 1;
  std::int64_t product = 1;
  std::int64_t unit = 1;
  std::int64_t span = 0;
  for (std::size_t i = 0; i < dim.axes.size(); ++i) {
    const AxisId axis = dim.axes[i];
    counts.push_back(ceil_div(size[axis], tile[axis]));
    step = std::gcd(step, dim.coef[i]);
    boxes *= counts.back();
    product *= tile[axis];
    unit = std::abs(dim.coef[i]) == 1 ? tile[axis] : unit;
    span += std::abs(dim.coef[i]) * (tile[axis] - 1);
  }
  step = std::max<std::int64_t>(step, 1);
  const std::int64_t interval = (span / step) + 1;
  const std::int64_t count =
      boxes > tuning::kMostBoxes
          ? std::min({shape, interval, product})
          : busiest({.dim = dim, .shape = shape, .step = step, .size = size, .tile = tile}, counts);
  const bool solid = step == 1 && interval <= product;
  return {.count = count, .intervals = solid ? 1 : std::max<std::int64_t>(1, count / unit)};
}

}  // namespace

bool contains(const ir::Operand& operand, AxisId axis) {
  const auto holds = [axis](const std::vector<AxisId>& axes) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  return std::any_of(operand.dims.begin(), operand.dims.end(),
                     [&](const ir::Dim& dim) { return holds(dim.axes); }) ||
         (operand.indirect && holds(operand.indirect->axes));
}

bool simple(const ir::Dim& dim) {
  return dim.axes.size() == 1 && dim.coef.front() == 1 && dim.offset == 0;
}

bool packed(const ir::Dim& dim, TableView<AxisId, const std::int64_t> size) {
  std::int64_t inner = 1;
  for (std::size_t i = dim.axes.size(); i-- > 0;) {
    if (dim.coef[i] != inner) {
      return false;
    }
    inner *= size[dim.axes[i]];
  }
  return dim.offset == 0;
}

Extent extent(const ir::Dim& dim, std::int64_t shape, TableView<AxisId, const std::int64_t> size,
              TableView<AxisId, const std::int64_t> tile) {
  if (dim.axes.empty()) {
    return {.count = 1, .intervals = 1};
  }
  return packed(dim, size) ? packed_extent(dim, shape, size, tile)
                           : mapped_extent(dim, shape, size, tile);
}

Extent extent(const ir::Tensor& tensor, const ir::Operand& operand, DimId dim,
              TableView<AxisId, const std::int64_t> size,
              TableView<AxisId, const std::int64_t> tile) {
  if (!operand.indirect || operand.indirect->dim != dim) {
    return extent(operand.dims[dim], tensor.shape[dim], size, tile);
  }
  std::int64_t picks = 1;
  for (const AxisId axis : operand.indirect->axes) {
    picks *= tile[axis];
  }
  picks = std::min(picks, tensor.shape[dim]);
  return {.count = picks, .intervals = picks};
}

Box box(const ir::Tensor& tensor, const ir::Operand& operand,
        TableView<AxisId, const std::int64_t> size, TableView<AxisId, const std::int64_t> tile) {
  Box result{.elements = 1, .runs = 1};
  bool whole = true;  // Whether all dimensions further in are whole, and so are one run.
  for (std::size_t dim = operand.dims.size(); dim-- > 0;) {
    const Extent part = extent(tensor, operand, id_at<DimId>(dim), size, tile);
    result.elements *= part.count;
    result.runs *= whole ? part.intervals : part.count;
    whole = whole && part.count == tensor.shape[id_at<DimId>(dim)];
  }
  return result;
}

std::int64_t spread_fragments(const Box& piece, std::int64_t elements, std::int64_t cores) {
  if (piece.elements == 0) {
    return 0;
  }
  const std::int64_t share = std::max<std::int64_t>(1, ceil_div(elements, cores));
  return piece.runs * ceil_div(ceil_div(piece.elements, piece.runs), share);
}

}  // namespace elk::partition
