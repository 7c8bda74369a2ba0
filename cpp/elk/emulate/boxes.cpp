#include "elk/emulate/boxes.hpp"

#include <algorithm>
#include <cstddef>

namespace elk::emulate {
namespace {

using partition::Run;

/// A run of indices that both sets have, as places in each of them.
struct PlacedRun {
  std::int64_t from;
  std::int64_t to;
  std::int64_t count;
};

std::vector<PlacedRun> placed_runs(partition::IndexView from, partition::IndexView to) {
  std::vector<PlacedRun> out;
  std::int64_t before_from = 0;
  std::int64_t before_to = 0;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < from.size() && j < to.size()) {
    const Run both = intersection(from[i], to[j]);
    if (!both.empty()) {
      out.push_back({.from = before_from + both.begin - from[i].begin,
                     .to = before_to + both.begin - to[j].begin,
                     .count = both.length()});
    }
    if (from[i].end < to[j].end) {
      before_from += from[i++].length();
    } else {
      before_to += to[j++].length();
    }
  }
  return out;
}

}  // namespace

std::vector<SharedRun> shared_runs(const Held& from, const Held& to) {
  std::vector<SharedRun> runs{{.from = 0, .to = 0, .count = 1}};
  for (std::size_t dim = 0; dim < from.sets.size() && !runs.empty(); ++dim) {
    const std::int64_t from_length = partition::count(from.sets[dim]);
    const std::int64_t to_length = partition::count(to.sets[dim]);
    const std::vector<PlacedRun> along = placed_runs(from.sets[dim], to.sets[dim]);
    const bool whole =
        along.size() == 1 && along[0].count == from_length && along[0].count == to_length;
    std::vector<SharedRun> next;
    for (const SharedRun& run : runs) {
      if (whole) {
        next.push_back({.from = run.from * from_length,
                        .to = run.to * to_length,
                        .count = run.count * from_length});
        continue;
      }
      for (std::int64_t i = 0; i < run.count; ++i) {
        for (const PlacedRun& part : along) {
          next.push_back({.from = ((run.from + i) * from_length) + part.from,
                          .to = ((run.to + i) * to_length) + part.to,
                          .count = part.count});
        }
      }
    }
    runs = std::move(next);
  }
  return runs;
}

std::int64_t elements(std::span<const SharedRun> runs) {
  std::int64_t sum = 0;
  for (const SharedRun& run : runs) {
    sum += run.count;
  }
  return sum;
}

}  // namespace elk::emulate
