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

void add_placed_runs(partition::IndexView from, partition::IndexView to,
                     std::vector<PlacedRun>& out) {
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
}

/// Walks over the common elements of two pieces.
class SharedWalk {
 public:
  SharedWalk(const Held& from, const Held& to, const std::function<void(const SharedRun&)>& visit)
      : visit_(visit) {
    levels_.reserve(from.sets.size());
    for (std::size_t dim = 0; dim < from.sets.size(); ++dim) {
      const std::size_t first = runs_.size();
      add_placed_runs(from.sets[dim], to.sets[dim], runs_);
      levels_.push_back({.first = first,
                         .last = runs_.size(),
                         .from_length = partition::count(from.sets[dim]),
                         .to_length = partition::count(to.sets[dim])});
    }
    while (!levels_.empty() && is_whole(levels_.back())) {  // Inner ones make up longer runs.
      inner_ *= levels_.back().from_length;
      levels_.pop_back();
    }
  }

  std::int64_t run() {
    if (levels_.empty()) {
      take({.from = 0, .to = 0, .count = inner_});
    } else {
      descend(0, {.from = 0, .to = 0, .count = 0});
    }
    return seen_;
  }

 private:
  struct Level {
    std::size_t first;  // in `runs_`
    std::size_t last;
    std::int64_t from_length;
    std::int64_t to_length;
  };

  [[nodiscard]] bool is_whole(const Level& level) const {
    return level.last == level.first + 1 && runs_[level.first].count == level.from_length &&
           runs_[level.first].count == level.to_length;
  }

  void take(const SharedRun& run) {
    if (run.count > 0) {
      visit_(run);
      seen_ += run.count;
    }
  }

  void descend(std::size_t depth, const SharedRun& outside) {
    const Level& level = levels_[depth];
    for (std::size_t i = level.first; i < level.last; ++i) {
      const PlacedRun& part = runs_[i];
      const std::int64_t from = (outside.from * level.from_length) + part.from;
      const std::int64_t to = (outside.to * level.to_length) + part.to;
      if (depth + 1 == levels_.size()) {
        take({.from = from * inner_, .to = to * inner_, .count = part.count * inner_});
        continue;
      }
      for (std::int64_t index = 0; index < part.count; ++index) {
        descend(depth + 1, {.from = from + index, .to = to + index, .count = 0});
      }
    }
  }

  const std::function<void(const SharedRun&)>& visit_;
  std::vector<PlacedRun> runs_;
  std::vector<Level> levels_;  // one for each dimension
  std::int64_t inner_ = 1;
  std::int64_t seen_ = 0;
};

}  // namespace

std::int64_t for_each_shared_run(const Held& from, const Held& to,
                                 const std::function<void(const SharedRun&)>& visit) {
  return SharedWalk(from, to, visit).run();
}

std::vector<SharedRun> shared_runs(const Held& from, const Held& to) {
  std::vector<SharedRun> runs;
  for_each_shared_run(from, to, [&](const SharedRun& run) { runs.push_back(run); });
  return runs;
}

}  // namespace elk::emulate
