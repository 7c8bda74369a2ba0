#include "elk/partition/layout/piece.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/partition/rotation.hpp"

namespace elk::partition {
namespace {

/// `step` of each axis times the core's digit there, summed, for every core in use.
template <class Number>
std::vector<Number> digit_sums(const Layout& layout, const std::vector<std::int64_t>& step) {
  std::int64_t cores = 1;
  for (const std::int32_t axis : layout.order) {
    cores *= layout.factors[subscript(axis)];
  }
  std::vector<Number> sums(static_cast<std::size_t>(cores), 0);
  std::size_t block = 1;  // cores that differ in the digits so far, innermost first
  for (std::size_t i = layout.order.size(); i-- > 0;) {
    const std::size_t axis = subscript(layout.order[i]);
    const auto factor = static_cast<std::size_t>(layout.factors[axis]);
    for (std::size_t digit = 1; digit < factor; ++digit) {
      const auto more = static_cast<Number>(static_cast<std::int64_t>(digit) * step[axis]);
      for (std::size_t core = 0; core < block; ++core) {
        sums[(digit * block) + core] = static_cast<Number>(sums[core] + more);
      }
    }
    block *= factor;
  }
  return sums;
}

/// Ascending runs in place of any, joined where they touch.
Indices joined(Indices runs) {
  const auto before = [](const IndexRange& a, const IndexRange& b) { return a.begin < b.begin; };
  if (!std::is_sorted(runs.begin(), runs.end(), before)) {
    std::sort(runs.begin(), runs.end(), before);
  }
  Indices result;
  for (const IndexRange& run : runs) {
    if (!result.empty() && run.begin <= result.back().end) {
      result.back().end = std::max(result.back().end, run.end);
    } else {
      result.push_back(run);
    }
  }
  return result;
}

/// All sums of `coef * i`, i in `range`, with an index of `inner`.
Indices swept(const Indices& inner, std::int64_t coef, const IndexRange& range) {
  const std::int64_t step = coef < 0 ? -coef : coef;
  const std::int64_t low = coef < 0 ? coef * (range.end - 1) : coef * range.begin;
  const std::int64_t high = low + (step * (range.length() - 1));
  if (inner.size() == 1 && inner[0].length() >= step) {
    return {{.begin = inner[0].begin + low, .end = inner[0].end + high}};
  }
  Indices runs;
  for (std::int64_t shift = low; shift <= high; shift += std::max<std::int64_t>(step, 1)) {
    for (const IndexRange& run : inner) {
      runs.push_back({.begin = run.begin + shift, .end = run.end + shift});
    }
  }
  return joined(std::move(runs));
}

/// The indices of a dimension along one axis as it is, at one of its tiles.
IndexRange tile(const Layout& layout, std::size_t dim, std::int64_t digit) {
  const ir::Dim& map = layout.dims[dim];
  const std::size_t axis = subscript(map.axes[0]);
  const std::int64_t length = ceil_div(layout.size[axis], layout.factors[axis]);
  return {.begin = std::max<std::int64_t>(0, map.offset + (digit * length)),
          .end = std::min(layout.shape[dim],
                          map.offset + std::min(layout.size[axis], (digit + 1) * length))};
}

/// The indices of one dimension at the tiles `digit` of its axes.
Indices indices(const Layout& layout, std::size_t dim, const std::vector<std::int64_t>& digit) {
  const ir::Dim& map = layout.dims[dim];
  Indices result{{.begin = map.offset, .end = map.offset + 1}};
  for (std::size_t i = map.axes.size(); i-- > 0;) {
    const std::size_t axis = subscript(map.axes[i]);
    const std::int64_t tile = ceil_div(layout.size[axis], layout.factors[axis]);
    const std::int64_t first = digit[i] * tile;
    result = swept(result, map.coef[i],
                   {.begin = first, .end = std::min(layout.size[axis], first + tile)});
  }
  const IndexRange tensor{.begin = 0, .end = layout.shape[dim]};
  for (IndexRange& run : result) {
    run = intersection(run, tensor);
  }
  std::erase_if(result, [](const IndexRange& run) { return run.empty(); });
  return result;
}

/// The indices number [begin, end) of `from`.
Indices slice(IndexView from, std::int64_t begin, std::int64_t end) {
  Indices result;
  std::int64_t passed = 0;
  for (const IndexRange& run : from) {
    const IndexRange part{.begin = std::max(run.begin, run.begin + begin - passed),
                          .end = std::min(run.end, run.begin + end - passed)};
    if (!part.empty()) {
      result.push_back(part);
    }
    passed += run.length();
  }
  return result;
}

/// Every set of one dimension, in the order of the digits of its axes, outermost first.
IndexSets sets(const Layout& layout, std::size_t dim) {
  const ir::Dim& map = layout.dims[dim];
  std::int64_t count = 1;
  for (const std::int32_t axis : map.axes) {
    count *= layout.factors[subscript(axis)];
  }
  IndexSets result;
  result.reserve(static_cast<std::size_t>(count));
  const bool plain = map.axes.size() == 1 && map.coef[0] == 1;
  std::vector<std::int64_t> digit(map.axes.size(), 0);
  for (std::int64_t set = 0; set < count; ++set) {
    if (plain) {
      const IndexRange run = tile(layout, dim, set);
      result.push_back(run.empty() ? IndexView{} : IndexView(&run, 1));
      continue;
    }
    std::int64_t rest = set;
    for (std::size_t i = digit.size(); i-- > 0;) {
      digit[i] = rest % layout.factors[subscript(map.axes[i])];
      rest /= layout.factors[subscript(map.axes[i])];
    }
    result.push_back(indices(layout, dim, digit));
  }
  return result;
}

/// The number of each core among those that share its piece, modulo the parts of the piece.
std::vector<std::int32_t> parts(const Layout& layout) {
  std::vector<std::int64_t> step(layout.factors.size(), 0);
  std::int64_t inner = 1;
  for (std::size_t i = layout.split_axes.size(); i-- > 0;) {
    step[subscript(layout.split_axes[i])] = inner;
    inner *= layout.factors[subscript(layout.split_axes[i])];
  }
  std::vector<std::int32_t> result = digit_sums<std::int32_t>(layout, step);
  for (std::int32_t& part : result) {
    part = static_cast<std::int32_t>(part % layout.split);
  }
  return result;
}

/// Counts through the digits of the cores in use, the innermost axis fastest.
void advance(const Layout& layout, std::vector<std::int64_t>& digits) {
  for (std::size_t i = layout.order.size(); i-- > 0;) {
    const std::size_t axis = subscript(layout.order[i]);
    if (++digits[axis] < layout.factors[axis]) {
      return;
    }
    digits[axis] = 0;
  }
}

/// Where each core's part begins, in indices of a tile of `tile`, while operands turn together.
std::vector<std::int64_t> begins(const Layout& layout, const CircleDim& circled, std::size_t cores,
                                 std::int64_t tile) {
  std::vector<std::int64_t> result(cores, 0);
  std::vector<std::int64_t> digits(layout.factors.size(), 0);
  for (std::int64_t& begin : result) {
    for (const OperandRotation& one : circled.turning) {
      begin += delay(one, digits);
    }
    begin %= tile;
    advance(layout, digits);
  }
  return result;
}

/// The indices number [begin, begin + length) of `from`, those beyond `tile` counted from the
/// front.
Indices window(IndexView from, std::int64_t begin, std::int64_t length, std::int64_t tile) {
  Indices result = slice(from, 0, std::max<std::int64_t>(0, begin + length - tile));
  const Indices rest = slice(from, begin, begin + length);
  result.insert(result.end(), rest.begin(), rest.end());
  return joined(std::move(result));
}

/// Every core's part where operands turn together: a set for each tile and each place to begin.
void turn(const Layout& layout, const CircleDim& circled, DimPieces& dim) {
  const std::size_t axis = subscript(layout.dims[static_cast<std::size_t>(circled.dim)].axes[0]);
  const std::int64_t tile = ceil_div(layout.size[axis], layout.factors[axis]);
  const auto cores = static_cast<std::size_t>(layout.cores);
  const std::vector<std::int64_t> begin = begins(layout, circled, cores, tile);
  std::vector<std::int64_t> distinct = begin;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  const std::int64_t length = ceil_div(tile, circled.parts);
  IndexSets windows;
  for (std::size_t set = 0; set < dim.sets.size(); ++set) {
    for (const std::int64_t first : distinct) {
      windows.push_back(window(dim.sets[set], first, length, tile));
    }
  }
  std::vector<std::int32_t> set_of(cores);
  for (std::size_t core = 0; core < cores; ++core) {
    const auto number = std::lower_bound(distinct.begin(), distinct.end(), begin[core]);
    set_of[core] = static_cast<std::int32_t>((dim.at(core) * distinct.size()) +
                                             static_cast<std::size_t>(number - distinct.begin()));
  }
  dim.sets = std::move(windows);
  dim.set_of = std::move(set_of);
}

void split(const Layout& layout, DimPieces& dim) {
  std::int64_t most = 1;
  for (std::size_t set = 0; set < dim.sets.size(); ++set) {
    most = std::max(most, count(dim.sets[set]));
  }
  const std::int64_t chunk = ceil_div(most, layout.split);
  IndexSets chunks;
  for (std::size_t set = 0; set < dim.sets.size(); ++set) {
    for (std::int64_t part = 0; part < layout.split; ++part) {
      chunks.push_back(slice(dim.sets[set], part * chunk, (part + 1) * chunk));
    }
  }
  const std::vector<std::int32_t> part = parts(layout);
  std::vector<std::int32_t> set_of(part.size());
  for (std::size_t place = 0; place < part.size(); ++place) {
    set_of[place] = static_cast<std::int32_t>(
        (static_cast<std::int64_t>(dim.at(place)) * layout.split) + part[place]);
  }
  dim.sets = std::move(chunks);
  dim.set_of = std::move(set_of);
}

DimPieces dim_pieces(const Layout& layout, std::size_t dim) {
  DimPieces result{.sets = sets(layout, dim), .counts = {}, .set_of = {}};
  if (result.sets.size() > 1) {
    std::vector<std::int64_t> step(layout.factors.size(), 0);
    std::int64_t inner = 1;
    const std::vector<std::int32_t>& axes = layout.dims[dim].axes;
    for (std::size_t i = axes.size(); i-- > 0;) {
      step[subscript(axes[i])] = inner;
      inner *= layout.factors[subscript(axes[i])];
    }
    result.set_of = digit_sums<std::int32_t>(layout, step);
  }
  const auto circled = std::find_if(
      layout.circled.begin(), layout.circled.end(),
      [dim](const CircleDim& one) { return one.dim == static_cast<std::int64_t>(dim); });
  if (circled != layout.circled.end()) {
    turn(layout, *circled, result);
  } else if (layout.split > 1 && static_cast<std::int64_t>(dim) == layout.split_dim) {
    split(layout, result);
  }
  result.counts.reserve(result.sets.size());
  for (std::size_t set = 0; set < result.sets.size(); ++set) {
    result.counts.push_back(count(result.sets[set]));
  }
  return result;
}

}  // namespace

std::int64_t count(IndexView indices) {
  std::int64_t sum = 0;
  for (const IndexRange& run : indices) {
    sum += run.length();
  }
  return sum;
}

std::int64_t common(IndexView a, IndexView b) {
  std::int64_t sum = 0;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const IndexRange both = intersection(a[i], b[j]);
    sum += both.empty() ? 0 : both.length();
    (a[i].end < b[j].end ? i : j) += 1;
  }
  return sum;
}

Indices shared(IndexView a, IndexView b) {
  Indices result;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const IndexRange both = intersection(a[i], b[j]);
    if (!both.empty()) {
      result.push_back(both);
    }
    (a[i].end < b[j].end ? i : j) += 1;
  }
  return result;
}

void IndexSets::reserve(std::size_t sets) {
  runs_.reserve(sets);
  first_.reserve(sets + 1);
}

void IndexSets::push_back(IndexView set) {
  runs_.insert(runs_.end(), set.begin(), set.end());
  first_.push_back(runs_.size());
  solid_ = solid_ && set.size() == 1;
}

Indices united(const IndexSets& sets, const std::vector<char>& marked) {
  Indices all;
  for (std::size_t set = 0; set < sets.size(); ++set) {
    if (marked.empty() || marked[set] != 0) {
      all.insert(all.end(), sets[set].begin(), sets[set].end());
    }
  }
  return joined(std::move(all));
}

Pieces::Pieces(const Layout& of) : layout(of), ids(digit_sums<std::int64_t>(of, of.grid_stride)) {
  for (std::size_t dim = 0; dim < of.shape.size(); ++dim) {
    dims.push_back(dim_pieces(of, dim));
  }
  for (std::size_t place = 0; place < ids.size() && dense; ++place) {
    dense = ids[place] == static_cast<std::int64_t>(place);
  }
}

std::int32_t Pieces::place(std::int64_t core) const {
  if (dense) {
    return core < static_cast<std::int64_t>(ids.size()) ? static_cast<std::int32_t>(core) : -1;
  }
  const auto found = std::lower_bound(ids.begin(), ids.end(), core);
  return found != ids.end() && *found == core ? static_cast<std::int32_t>(found - ids.begin()) : -1;
}

bool comparable(const Layout& have, const Layout& need) {
  return !have.spread && !need.spread && have.split <= 1 && need.split <= 1 &&
         have.shape == need.shape;
}

bool same(const Pieces& have, const Pieces& need) {
  if (std::any_of(need.ids.begin(), need.ids.end(),
                  [&](std::int64_t core) { return have.place(core) < 0; })) {
    return false;
  }
  for (std::size_t dim = 0; dim < need.dims.size(); ++dim) {
    for (std::size_t core = 0; core < need.ids.size(); ++core) {
      const std::int32_t place = have.place(need.ids[core]);
      const IndexView there =
          have.dims[dim].sets[have.dims[dim].at(static_cast<std::size_t>(place))];
      const IndexView wanted = need.dims[dim].sets[need.dims[dim].at(core)];
      if (!std::equal(there.begin(), there.end(), wanted.begin(), wanted.end())) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace elk::partition
