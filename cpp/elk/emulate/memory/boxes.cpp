#include "elk/emulate/memory/boxes.hpp"

#include <algorithm>
#include <utility>

namespace elk::emulate {

void OverlapFinder::add_runs(partition::IndexView from, partition::IndexView to) {
  std::int64_t before_from = 0;
  std::int64_t before_to = 0;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < from.size() && j < to.size()) {
    const partition::IndexRange both = intersection(from[i], to[j]);
    if (!both.empty()) {
      runs_.push_back({.from = before_from + both.begin - from[i].begin,
                       .to = before_to + both.begin - to[j].begin,
                       .count = both.length()});
    }
    if (from[i].end < to[j].end) {
      before_from += from[i++].length();
    } else {
      before_to += to[j++].length();
    }
  }
}

bool OverlapFinder::is_whole(const DimRanges& level) const {
  return level.last == level.first + 1 && runs_[level.first].count == level.from_length &&
         runs_[level.first].count == level.to_length;
}

void OverlapFinder::descend(std::size_t depth, const OverlapRange& outside) {
  const DimRanges& level = levels_[depth];
  for (std::size_t i = level.first; i < level.last; ++i) {
    const RangePlaces& part = runs_[i];
    const std::int64_t from = (outside.from * level.from_length) + part.from;
    const std::int64_t to = (outside.to * level.to_length) + part.to;
    if (depth + 1 == levels_.size()) {
      found_.push_back({.from = from * inner_, .to = to * inner_, .count = part.count * inner_});
      continue;
    }
    for (std::int64_t index = 0; index < part.count; ++index) {
      descend(depth + 1, {.from = from + index, .to = to + index, .count = 0});
    }
  }
}

std::vector<OverlapRange>& OverlapFinder::between(const DensePiece& from, const DensePiece& to) {
  runs_.clear();
  levels_.clear();
  found_.clear();
  inner_ = 1;
  for (std::size_t dim = 0; dim < from.sets.size(); ++dim) {
    const std::size_t first = runs_.size();
    add_runs(from.sets[dim], to.sets[dim]);
    if (runs_.size() == first) {
      return found_;
    }
    levels_.push_back({.first = first,
                       .last = runs_.size(),
                       .from_length = partition::count(from.sets[dim]),
                       .to_length = partition::count(to.sets[dim])});
  }
  while (!levels_.empty() && is_whole(levels_.back())) {  // Inner ones make up longer runs.
    inner_ *= levels_.back().from_length;
    levels_.pop_back();
  }
  if (levels_.empty()) {
    found_.push_back({.from = 0, .to = 0, .count = inner_});
  } else {
    descend(0, {.from = 0, .to = 0, .count = 0});
  }
  return found_;
}

std::int64_t count(std::span<const OverlapRange> runs) {
  std::int64_t sum = 0;
  for (const OverlapRange& run : runs) {
    sum += run.count;
  }
  return sum;
}

std::int64_t for_each_shared_run(const DensePiece& from, const DensePiece& to,
                                 const std::function<void(const OverlapRange&)>& visit) {
  const std::vector<OverlapRange> runs = shared_runs(from, to);
  std::for_each(runs.begin(), runs.end(), visit);
  return count(runs);
}

std::vector<OverlapRange> shared_runs(const DensePiece& from, const DensePiece& to) {
  OverlapFinder shared;
  return std::move(shared.between(from, to));
}

}  // namespace elk::emulate
