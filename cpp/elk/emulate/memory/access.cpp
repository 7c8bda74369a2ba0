#include "elk/emulate/memory/access.hpp"

#include <algorithm>
#include <array>

#include "elk/base/errors.hpp"
#include "elk/partition/extent.hpp"

namespace elk::emulate {
namespace {

using partition::IndexRange;
using partition::Indices;

/// Where the indices of one dimension lie in a piece, counted in elements of the piece.
class IndexOffsets {
 public:
  IndexOffsets(const Indices& set, std::int64_t shape, std::int64_t stride)
      : shape_(shape), stride_(stride) {
    if (set.size() == 1) {
      run_ = set[0];
      return;
    }
    at_.assign(static_cast<std::size_t>(shape), -1);
    std::int64_t place = 0;
    for (const IndexRange& run : set) {
      for (std::int64_t index = run.begin; index < run.end; ++index) {
        at_[static_cast<std::size_t>(index)] = place++;
      }
    }
  }

  [[nodiscard]] bool solid() const { return at_.empty(); }
  [[nodiscard]] const IndexRange& run() const { return run_; }
  [[nodiscard]] std::int64_t stride() const { return stride_; }
  [[nodiscard]] std::int64_t shape() const { return shape_; }

  /// The element offset of `index`, -1 if it is not held.
  [[nodiscard]] std::int64_t of(std::int64_t index) const {
    if (solid()) {
      return run_.contains(index) ? (index - run_.begin) * stride_ : -1;
    }
    const std::int64_t place = at_[static_cast<std::size_t>(index)];
    return place < 0 ? -1 : place * stride_;
  }

 private:
  IndexRange run_{.begin = 0, .end = 0};
  std::vector<std::int64_t> at_;
  std::int64_t shape_;
  std::int64_t stride_;
};

[[noreturn]] void not_held(std::size_t dim, std::int64_t index) {
  throw InternalError(
      text("index ", index, " of dimension ", dim, " is needed and not in the core's piece"),
      "emulate_not_held");
}

/// Walks over the points, with the index of every dimension at hand.
class AxisWalk {
 public:
  AxisWalk(const ir::Operand& operand, const DensePiece& held, std::span<const std::int64_t> shape,
           const AxisRanges& points)
      : points_(points), index_(shape.size()), steps_(points.axes.size()) {
    std::int64_t stride = held.elements();
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
      const std::int64_t length = partition::count(held.sets[dim]);
      stride = length > 0 ? stride / length : 0;
      places_.emplace_back(held.sets[dim], shape[dim], stride);
      index_[dim] = operand.dims[dim].offset;
      enter(operand.dims[dim], dim);
    }
    picked_ = operand.indirect ? operand.indirect->dim : -1;
  }

  std::vector<ElementStride> run(std::span<const std::int64_t> picks) {
    picks_ = picks;
    descend(0);
    return std::move(found_);
  }

 private:
  struct DimCoef {
    std::size_t dim;
    std::int64_t coef;
  };

  void enter(const ir::Dim& map, std::size_t dim) {
    for (std::size_t i = 0; i < map.axes.size(); ++i) {
      const auto at = std::find(points_.axes.begin(), points_.axes.end(), map.axes[i]);
      if (at == points_.axes.end()) {
        throw InternalError(text("axis ", map.axes[i], " of an operand is not among the points"));
      }
      const auto level = static_cast<std::size_t>(at - points_.axes.begin());
      steps_[level].push_back({.dim = dim, .coef = map.coef[i]});
      index_[dim] += map.coef[i] * points_.ranges[level].begin;
    }
  }

  void move(std::size_t level, std::int64_t by) {
    for (const DimCoef& step : steps_[level]) {
      index_[step.dim] += by * step.coef;
    }
  }

  void descend(std::size_t level) {
    const std::size_t depth = points_.axes.size();
    if (level == depth) {
      single();
      return;
    }
    const std::int64_t count = points_.ranges[level].length();
    if (level + 1 == depth && picked_ < 0 && straight(level)) {
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      descend(level + 1);
      move(level, 1);
    }
    move(level, -count);
  }

  /// One point.
  void single() {
    const std::int64_t point = point_++;
    if (picked_ >= 0) {
      const std::int64_t rows = places_[static_cast<std::size_t>(picked_)].shape();
      const std::int64_t pick = picks_[static_cast<std::size_t>(point)];
      index_[static_cast<std::size_t>(picked_)] = pick < 0 ? pick + rows : pick;
    }
    std::int64_t element = 0;
    for (std::size_t dim = 0; dim < places_.size(); ++dim) {
      if (index_[dim] < 0 || index_[dim] >= places_[dim].shape()) {
        return;
      }
      const std::int64_t at = places_[dim].of(index_[dim]);
      if (at < 0) {
        not_held(dim, index_[dim]);
      }
      element += at;
    }
    push({.point = point, .count = 1, .element = element, .step = 0});
  }

  /// The innermost axis as one run, if it moves along at most one dimension, held as one run.
  bool straight(std::size_t level) {
    const std::vector<DimCoef>& steps = steps_[level];
    if (steps.size() > 1 || (steps.size() == 1 && !places_[steps[0].dim].solid())) {
      return false;
    }
    const std::int64_t count = points_.ranges[level].length();
    const std::int64_t point = point_;
    point_ += count;
    std::int64_t element = 0;
    for (std::size_t dim = 0; dim < places_.size(); ++dim) {
      if (!steps.empty() && steps[0].dim == dim) {
        continue;
      }
      if (index_[dim] < 0 || index_[dim] >= places_[dim].shape()) {
        return true;
      }
      const std::int64_t at = places_[dim].of(index_[dim]);
      if (at < 0) {
        not_held(dim, index_[dim]);
      }
      element += at;
    }
    if (steps.empty()) {
      push({.point = point, .count = count, .element = element, .step = 0});
    } else {
      along(steps[0], {.point = point, .count = count, .element = element, .step = 0});
    }
    return true;
  }

  /// A run of points along one dimension, clipped to the tensor.
  void along(const DimCoef& step, ElementStride run) {
    const IndexOffsets& places = places_[step.dim];
    const std::int64_t first = index_[step.dim];
    std::int64_t low = 0;
    std::int64_t high = run.count;
    while (low < high &&
           (first + (low * step.coef) < 0 || first + (low * step.coef) >= places.shape())) {
      ++low;
    }
    while (low < high && (first + ((high - 1) * step.coef) < 0 ||
                          first + ((high - 1) * step.coef) >= places.shape())) {
      --high;
    }
    if (low == high) {
      return;
    }
    const std::int64_t begin = places.of(first + (low * step.coef));
    if (begin < 0 || places.of(first + ((high - 1) * step.coef)) < 0) {
      not_held(step.dim, begin < 0 ? first + (low * step.coef) : first + ((high - 1) * step.coef));
    }
    push({.point = run.point + low,
          .count = high - low,
          .element = run.element + begin,
          .step = step.coef * places.stride()});
  }

  /// Notes a run, as part of the one before if it goes on from there.
  void push(const ElementStride& run) {
    if (!found_.empty() && found_.back().point + found_.back().count == run.point) {
      ElementStride& last = found_.back();
      const std::int64_t jump = run.element - last.element;
      const bool goes_on = last.count == 1 ? run.count == 1 || run.step == jump
                                           : jump == last.step * last.count &&
                                                 (run.count == 1 || run.step == last.step);
      if (goes_on) {
        last.step = last.count == 1 ? jump : last.step;
        last.count += run.count;
        return;
      }
    }
    found_.push_back(run);
  }

  const AxisRanges& points_;
  std::vector<std::int64_t> index_;
  std::vector<std::vector<DimCoef>> steps_;
  std::vector<IndexOffsets> places_;
  std::int32_t picked_ = -1;
  std::span<const std::int64_t> picks_;
  std::int64_t point_ = 0;
  std::vector<ElementStride> found_;
};

/// The points of a call that all lie in a box that is held: how far apart in the piece they are
/// along each axis, axes that go on as one taken together.
class Lattice {
 public:
  /// False: some point lies outside the tensor or the piece, or the piece has gaps.
  bool lay(const ir::Operand& operand, const DensePiece& held, std::span<const std::int64_t> shape,
           const AxisRanges& points) {
    std::vector<std::int64_t> step(points.axes.size(), 0);
    std::int64_t stride = held.elements();
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
      if (held.sets[dim].size() != 1 || held.sets[dim].front().empty()) {
        return false;
      }
      const IndexRange box = held.sets[dim].front();
      stride /= box.length();
      if (!add(operand.dims[dim], {.begin = box.begin, .end = std::min(box.end, shape[dim])},
               points, stride, step)) {
        return false;
      }
    }
    for (std::size_t level = 0; level < step.size(); ++level) {
      push({.step = step[level], .count = points.ranges[level].length()});
    }
    return true;
  }

  [[nodiscard]] std::vector<ElementStride> runs() const {
    const AxisStride inner = axes_.empty() ? AxisStride{.step = 0, .count = 1} : axes_.back();
    const std::size_t outer = axes_.empty() ? 0 : axes_.size() - 1;
    std::int64_t rows = 1;
    for (std::size_t level = 0; level < outer; ++level) {
      rows *= axes_[level].count;
    }
    std::vector<ElementStride> found;
    found.reserve(static_cast<std::size_t>(rows));
    std::vector<std::int64_t> digit(outer, 0);
    std::int64_t element = first_;
    for (std::int64_t row = 0; row < rows; ++row) {
      found.push_back({.point = row * inner.count,
                       .count = inner.count,
                       .element = element,
                       .step = inner.step});
      for (std::size_t level = outer; level-- > 0;) {
        element += axes_[level].step;
        if (++digit[level] < axes_[level].count) {
          break;
        }
        element -= axes_[level].step * axes_[level].count;
        digit[level] = 0;
      }
    }
    return found;
  }

 private:
  struct AxisStride {
    std::int64_t step;
    std::int64_t count;
  };

  /// Adds what a dimension moves by; false: an index of it lies outside `box`.
  bool add(const ir::Dim& map, const IndexRange& box, const AxisRanges& points, std::int64_t stride,
           std::vector<std::int64_t>& step) {
    std::int64_t low = map.offset;
    std::int64_t high = map.offset;
    std::int64_t begin = map.offset;
    for (std::size_t i = 0; i < map.axes.size(); ++i) {
      const auto at = std::find(points.axes.begin(), points.axes.end(), map.axes[i]);
      if (at == points.axes.end()) {
        return false;
      }
      const auto level = static_cast<std::size_t>(at - points.axes.begin());
      const std::int64_t coef = map.coef[i];
      const IndexRange& range = points.ranges[level];
      low += coef * (coef < 0 ? range.end - 1 : range.begin);
      high += coef * (coef < 0 ? range.begin : range.end - 1);
      begin += coef * range.begin;
      step[level] += coef * stride;
    }
    first_ += (begin - box.begin) * stride;
    return low >= box.begin && high < box.end;
  }

  void push(const AxisStride& axis) {
    if (axis.count == 1) {
      return;
    }
    if (!axes_.empty() && axes_.back().step == axis.step * axis.count) {
      axes_.back() = {.step = axis.step, .count = axes_.back().count * axis.count};
      return;
    }
    axes_.push_back(axis);
  }

  std::vector<AxisStride> axes_;
  std::int64_t first_ = 0;
};

}  // namespace

std::int64_t DensePiece::elements() const {
  std::int64_t product = 1;
  for (const partition::Indices& set : sets) {
    product *= partition::count(set);
  }
  return product;
}

DensePiece whole(const ir::Tensor& tensor) {
  DensePiece result;
  for (const std::int64_t size : tensor.shape) {
    result.sets.push_back({{.begin = 0, .end = size}});
  }
  return result;
}

std::int64_t AxisRanges::count() const {
  std::int64_t product = 1;
  for (const partition::IndexRange& range : ranges) {
    product *= range.length();
  }
  return product;
}

AxisRanges all_points(const Ranges& ranges) {
  AxisRanges result{.axes = {}, .ranges = ranges};
  for (std::size_t axis = 0; axis < ranges.size(); ++axis) {
    result.axes.push_back(static_cast<std::int32_t>(axis));
  }
  return result;
}

AxisRanges points_of(const ir::Operand& operand, const Ranges& ranges) {
  AxisRanges result;
  for (std::size_t axis = 0; axis < ranges.size(); ++axis) {
    const auto id = static_cast<std::int32_t>(axis);
    if (partition::contains(operand, id)) {
      result.axes.push_back(id);
      result.ranges.push_back(ranges[axis]);
    }
  }
  return result;
}

std::vector<ElementStride> touched(const ir::Operand& operand, const DensePiece& held,
                                   std::span<const std::int64_t> shape, const AxisRanges& points,
                                   std::span<const std::int64_t> picks) {
  if (points.count() == 0) {
    return {};
  }
  Lattice lattice;
  if (!operand.indirect && lattice.lay(operand, held, shape, points)) {
    return lattice.runs();
  }
  return AxisWalk(operand, held, shape, points).run(picks);
}

}  // namespace elk::emulate
