#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "elk/partition/layout/piece.hpp"

namespace elk::partition {

/// What a held and a needed set of one dimension have in common.
struct Overlap {
  std::int64_t count = 0;  // indices
  std::int64_t runs = 0;   // contiguous ones
  bool whole = false;      // whether it is all of both sets
};

/// What a needed set has in common with all held ones: runs of whole sets, of others, and indices.
struct NeededOverlap {
  std::int64_t whole_runs = 0;
  std::int64_t other_runs = 0;
  std::int64_t count = 0;
};

/// What a held set has in common with all needed ones.
struct HeldOverlap {
  std::int64_t united = 0;   // indices, each once
  std::int64_t summed = 0;   // indices, each for every set that has it
  std::int64_t boxes = 0;    // stretches that the same sets need
  std::int64_t largest = 0;  // stretch, in indices
};

/// Of needed sets, some left out: what leaves each held set, and what just one of them has.
struct NeededSubset {
  std::vector<HeldOverlap> leaving;
  Indices once;
};

/// How the sets of two layouts of a tensor meet in one dimension.
class Overlaps {
 public:
  Overlaps(const DimPieces& held, const DimPieces& needed);

  [[nodiscard]] Overlap operator()(std::size_t have, std::size_t need) {
    if (!solid_) {
      return of_several_runs(have, need);
    }
    const std::int64_t count = std::max<std::int64_t>(
        0, intersection(held_.sets.run(have), needed_.sets.run(need)).length());
    return {.count = count, .runs = count > 0 ? 1 : 0, .whole = is_all(count, have, need)};
  }
  [[nodiscard]] const NeededOverlap& arriving(std::size_t need) const { return arriving_[need]; }
  /// Of the needed sets that are marked.
  [[nodiscard]] NeededSubset wanted(const std::vector<char>& marked) const;
  /// Of the common part of two sets, what `once` has as well.
  [[nodiscard]] std::int64_t common_with(std::size_t have, std::size_t need,
                                         const Indices& once) const;

 private:
  [[nodiscard]] bool is_all(std::int64_t count, std::size_t have, std::size_t need) const {
    return count == held_.counts[have] && count == needed_.counts[need];
  }
  [[nodiscard]] Overlap of_several_runs(std::size_t have, std::size_t need);
  void sort_held();
  void count_arriving();
  /// Calls `visit(set, indices)` for every run of a held set that meets `wanted`.
  template <class Visit>
  void for_each_held(const IndexRange& wanted, const Visit& visit) const;
  void leave(const IndexRange& stretch, std::vector<HeldOverlap>& leaving) const;

  const DimPieces& held_;
  const DimPieces& needed_;
  bool solid_;
  std::vector<SetRange> runs_;                      // of held sets, by where they begin
  std::vector<std::int64_t> reach_;                 // the largest end so far
  std::vector<NeededOverlap> arriving_;             // of each needed set
  std::unordered_map<std::size_t, Overlap> known_;  // of pairs not both one run
};

}  // namespace elk::partition
