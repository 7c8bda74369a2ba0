#include "elk/partition/layout/overlaps.hpp"

#include <algorithm>
#include <utility>

#include "elk/base/ids.hpp"

namespace elk::partition {
namespace {

/// Where runs of sets begin (+1) and end (-1).
using RangeEdges = std::vector<std::pair<std::int64_t, std::int32_t>>;

}  // namespace

Overlaps::Overlaps(const DimPieces& held, const DimPieces& needed)
    : held_(held), needed_(needed), solid_(held.sets.solid() && needed.sets.solid()) {
  sort_held();
  count_arriving();
}

void Overlaps::sort_held() {
  runs_.reserve(held_.sets.size());
  for (std::size_t set = 0; set < held_.sets.size(); ++set) {
    for (const IndexRange& run : held_.sets[set]) {
      runs_.push_back({run, static_cast<std::int32_t>(set)});
    }
  }
  const auto before = [](const SetRange& a, const SetRange& b) {
    return std::pair(a.run.begin, a.set) < std::pair(b.run.begin, b.set);
  };
  if (!std::is_sorted(runs_.begin(), runs_.end(), before)) {
    std::sort(runs_.begin(), runs_.end(), before);
  }
  reach_.reserve(runs_.size());
  std::int64_t reach = 0;
  for (const SetRange& one : runs_) {
    reach = std::max(reach, one.run.end);
    reach_.push_back(reach);
  }
}

template <class Visit>
void Overlaps::for_each_held(const IndexRange& wanted, const Visit& visit) const {
  const auto first = std::upper_bound(reach_.begin(), reach_.end(), wanted.begin);
  for (auto i = static_cast<std::size_t>(first - reach_.begin());
       i < runs_.size() && runs_[i].run.begin < wanted.end; ++i) {
    const IndexRange shared = intersection(runs_[i].run, wanted);
    if (!shared.empty()) {
      visit(subscript(runs_[i].set), shared.length());
    }
  }
}

void Overlaps::count_arriving() {
  arriving_.resize(needed_.sets.size());
  std::vector<Overlap> met(held_.sets.size());
  std::vector<std::size_t> sets;
  for (std::size_t need = 0; need < arriving_.size(); ++need) {
    sets.clear();
    for (const IndexRange& run : needed_.sets[need]) {
      for_each_held(run, [&](std::size_t set, std::int64_t length) {
        if (met[set].runs == 0) {
          sets.push_back(set);
        }
        met[set].count += length;
        ++met[set].runs;
      });
    }
    NeededOverlap& sum = arriving_[need];
    for (const std::size_t set : sets) {
      const Overlap one = std::exchange(met[set], {});
      const bool whole = one.count == held_.counts[set] && one.count == needed_.counts[need];
      (whole ? sum.whole_runs : sum.other_runs) += one.runs;
      sum.count += one.count;
    }
  }
}

Overlap Overlaps::of_several_runs(std::size_t have, std::size_t need) {
  const auto [found, added] = known_.try_emplace((have * needed_.sets.size()) + need);
  if (added) {
    const Indices both = shared(held_.sets[have], needed_.sets[need]);
    const std::int64_t indices = count(both);
    found->second = {.count = indices,
                     .runs = static_cast<std::int64_t>(both.size()),
                     .whole = is_all(indices, have, need)};
  }
  return found->second;
}

/// Adds a stretch of indices that the same needed sets have to what leaves the sets that hold it.
void Overlaps::leave(const IndexRange& stretch, std::vector<HeldOverlap>& leaving) const {
  for_each_held(stretch, [&](std::size_t set, std::int64_t length) {
    HeldOverlap& one = leaving[set];
    one.united += length;
    ++one.boxes;
    one.largest = std::max(one.largest, length);
  });
}

NeededSubset Overlaps::wanted(const std::vector<char>& marked) const {
  NeededSubset result{.leaving = std::vector<HeldOverlap>(held_.sets.size()), .once = {}};
  RangeEdges edges;
  for (std::size_t need = 0; need < marked.size(); ++need) {
    for (const IndexRange& run : marked[need] != 0 ? needed_.sets[need] : IndexView{}) {
      edges.emplace_back(run.begin, 1);
      edges.emplace_back(run.end, -1);
      for_each_held(
          run, [&](std::size_t set, std::int64_t length) { result.leaving[set].summed += length; });
    }
  }
  std::sort(edges.begin(), edges.end());
  std::int32_t cover = 0;
  std::int64_t begin = 0;
  for (const auto& [index, change] : edges) {
    if (cover > 0 && begin < index) {
      leave({begin, index}, result.leaving);
      if (cover == 1) {
        result.once.push_back({begin, index});
      }
    }
    cover += change;
    begin = index;
  }
  return result;
}

std::int64_t Overlaps::common_with(std::size_t have, std::size_t need, const Indices& once) const {
  if (!solid_) {
    return common(shared(held_.sets[have], needed_.sets[need]), once);
  }
  const IndexRange both = intersection(held_.sets.run(have), needed_.sets.run(need));
  auto run =
      std::upper_bound(once.begin(), once.end(), both.begin,
                       [](std::int64_t index, const IndexRange& one) { return index < one.end; });
  std::int64_t indices = 0;
  for (; run != once.end() && run->begin < both.end; ++run) {
    indices += std::max<std::int64_t>(0, intersection(*run, both).length());
  }
  return indices;
}

}  // namespace elk::partition
