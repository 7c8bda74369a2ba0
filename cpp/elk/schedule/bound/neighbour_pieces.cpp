#include "elk/schedule/bound/neighbour_pieces.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"

namespace elk::schedule {
namespace {

constexpr double kRounding = 1e-9;  // of products of ratios, below which they count as whole

/// What a cut reads, next to what others do that read as much.
std::size_t reading_of(const cost::LayoutCut& cut, std::vector<Reading>& readings) {
  for (std::size_t at = readings.size(); at > 0 && readings[at - 1].read == cut.read; --at) {
    if (readings[at - 1].moves == cut.moves) {
      return at - 1;
    }
  }
  readings.push_back({.read = cut.read, .moves = cut.moves});
  return readings.size() - 1;
}

/// Adds a dimension further out, of which any core holds `held` and needs `needed` at most.
void add_dim(std::int64_t held, std::int64_t needed, PieceNeed& piece) {
  const auto [less, more] = std::minmax(held, needed);
  const auto found = static_cast<double>(less == 0 ? more : less);
  piece.alike = piece.alike && (less == more || less == 0);
  piece.held *= found;
  if (needed == 0) {
    return;
  }
  piece.needed *= static_cast<double>(needed);
  piece.found *= found;
  if (!std::isinf(piece.steps)) {
    return;  // Runs end further in, with the pieces of the senders.
  }
  piece.run *= found;
  if (held > 0 && 2 * held < needed) {
    piece.steps = static_cast<double>(needed) / (2.0 * found);
  }
}

/// Adds the times of a cut to what others take that read as much.
void add_times(const cost::LayoutCut& cut, Reading& need) {
  need.whole = std::min(need.whole, (cut.whole - cut.execute).value);
  for (std::size_t steps = 0; steps < need.turned.size(); ++steps) {
    need.turned[steps] = std::min(need.turned[steps], cut.turned[steps] - cut.execute.value);
  }
}

}  // namespace

ShapeClasses<OpId, ExtraTime> distinct(std::span<const ExtraTime> extra, std::size_t ops) {
  if (extra.empty()) {
    return {.shapes = {{.least = 0.0}}, .of = Table<OpId, std::size_t>(ops, 0)};
  }
  ShapeClasses<OpId, ExtraTime> found;
  for (const ExtraTime& one : extra) {
    const auto known = std::find(found.shapes.begin(), found.shapes.end(), one);
    found.of.push_back(static_cast<std::size_t>(known - found.shapes.begin()));
    if (known == found.shapes.end()) {
      found.shapes.push_back(one);
    }
  }
  return found;
}

CutShortlist listed(const cost::LayoutFloor& layout_floor, std::span<const double> times,
                    double free) {
  CutShortlist found{.cuts = {}, .most = 0.0};
  if (times.empty()) {
    return found;
  }
  const double fastest = *std::min_element(times.begin(), times.end());
  const double limit = fastest + (2.0 * layout_floor.fetch.value) + free;
  found.most = std::min(times.back(), limit);
  for (std::size_t cut = 0; cut < times.size(); ++cut) {
    if (times[cut] < limit || cut + 1 == times.size()) {
      found.cuts.push_back(&layout_floor.cuts[cut]);
    }
  }
  return found;
}

ShapeClasses<CutId, Reading> readings(TableView<CutId, const cost::LayoutCut* const> cuts) {
  ShapeClasses<CutId, Reading> found;
  for (const cost::LayoutCut* cut : cuts) {
    found.of.push_back(reading_of(*cut, found.shapes));
    add_times(*cut, found.shapes[found.of.back()]);
  }
  return found;
}

ShapeClasses<CutId, std::vector<std::int64_t>> results(
    TableView<CutId, const cost::LayoutCut* const> cuts) {
  std::vector<CutId> order(cuts.size());
  std::iota(order.begin(), order.end(), CutId{0});
  std::sort(order.begin(), order.end(),
            [&](CutId a, CutId b) { return cuts[a]->written < cuts[b]->written; });
  ShapeClasses<CutId, std::vector<std::int64_t>> found{
      .shapes = {}, .of = Table<CutId, std::size_t>(cuts.size())};
  for (const CutId cut : order) {
    if (found.shapes.empty() || found.shapes.back() != cuts[cut]->written) {
      found.shapes.push_back(cuts[cut]->written);
    }
    found.of[cut] = found.shapes.size() - 1;
  }
  return found;
}

bool may_agree(std::span<const std::int64_t> shape, std::span<const std::int64_t> read) {
  if (shape.empty() || shape.size() != read.size()) {
    return true;
  }
  bool told = true;
  bool alike = true;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    told = told && (shape[dim] != 0 || read[dim] != 0);
    alike = alike && (shape[dim] == read[dim] || shape[dim] == 0 || read[dim] == 0);
  }
  return alike || !told;
}

ReadingIndex::ReadingIndex(std::span<const Reading> readings) : readings_(readings) {
  for (std::size_t number = 0; number < readings.size(); ++number) {
    const std::vector<std::int64_t>& read = readings[number].read;
    if (readings[number].moves) {
      continue;
    }
    all_.push_back(number);
    if (read.empty() || std::find(read.begin(), read.end(), 0) != read.end()) {
      untold_.push_back(number);
    } else {
      told_[read].push_back(number);
    }
  }
}

std::vector<std::vector<std::size_t>> agreeing(std::span<const std::vector<std::int64_t>> shapes,
                                               std::span<const Reading> readings) {
  const ReadingIndex known(readings);
  std::vector<std::vector<std::size_t>> result(shapes.size());
  for (std::size_t shape = 0; shape < shapes.size(); ++shape) {
    known.each(shapes[shape], [&](std::size_t number) { result[shape].push_back(number); });
  }
  return result;
}

std::optional<PieceNeed> piece_of(std::span<const std::int64_t> shape,
                                  std::span<const std::int64_t> read) {
  if (shape.empty() || shape.size() != read.size()) {
    return {};
  }
  PieceNeed piece;
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    if (shape[dim] == 0 && read[dim] == 0) {
      return {};
    }
    add_dim(shape[dim], read[dim], piece);
  }
  return piece;
}

double fragments(const PieceNeed& piece, double steps) {
  const double fetched = (piece.needed / steps) - piece.found;
  const double run = steps < piece.steps ? piece.run : piece.found;
  return std::max(1.0, std::ceil((fetched / run) - kRounding));
}

double fragmented(const PieceNeed& piece, const Reading& need, double fragment, double free) {
  const auto took = [&](double longer, double steps) {
    return std::max(0.0, longer - free) + ((fragments(piece, steps) - 1.0) * fragment);
  };
  double least = took(need.whole, 1.0);
  for (std::size_t at = 0; at < need.turned.size() && need.turned[at] - free < least; ++at) {
    const double most =
        at + 1 < need.turned.size() ? static_cast<double>(cost::kStepsTold[at + 1] - 1) : kInfinite;
    least = std::min(least, took(need.turned[at], most));
  }
  return least;
}

}  // namespace elk::schedule
