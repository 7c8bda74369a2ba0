#pragma once

#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/schedule/problem/neighbour_sums.hpp"
#include "elk/schedule/problem/problem.hpp"

namespace elk::schedule {

/// What is known of an op's cuts; nothing where they are not.
[[nodiscard]] const cost::LayoutFloor& known_of(const cost::Front& front);

/// Which ops stand in trees (`neighbour_bound`), and on which each hangs.
class NeighbourForest {
 public:
  /// `extra`: of each op, what counts of its times; none: all does.
  NeighbourForest(const Problem& problem, NeighbourSum summed, std::span<const ExtraTime> extra)
      : problem_(problem), summed_(summed), extra_(extra) {}

  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] NeighbourSum summed() const { return summed_; }
  [[nodiscard]] std::span<const ExtraTime> extra() const { return extra_; }
  [[nodiscard]] const cost::LayoutFloor& layout_floor(OpId op) const {
    return known_of(problem_.front(op));
  }

  /// Whether the cuts of an op are known, and it is of a kind that is asked for.
  [[nodiscard]] bool hangs(OpId op) const;
  /// The op that makes what `op` reads, -1 if its cuts are not known.
  [[nodiscard]] OpId maker(OpId op) const;
  /// What counts of every cut of each front.
  [[nodiscard]] std::vector<std::vector<double>> times() const;
  /// Seconds of all ops with their exchanges at most, by amount.
  [[nodiscard]] double longest() const;
  [[nodiscard]] NeighbourKey key() const;

 private:
  [[nodiscard]] double longest(const cost::LayoutFloor& known) const;

  const Problem& problem_;
  NeighbourSum summed_;
  std::span<const ExtraTime> extra_;
};

}  // namespace elk::schedule
