#pragma once

#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/standings.hpp"

namespace elk::schedule {

/// What is known of an op's cuts; nothing where they are not.
[[nodiscard]] const cost::Standing& known_of(const cost::Front& front);

/// Which ops stand in trees (`standing_bound`), and on which each hangs.
class Wiring {
 public:
  /// `excess`: of each op, what counts of its times; none: all does. `priced`: what counts instead
  /// of its times.
  Wiring(const Problem& problem, Standings standings, std::span<const Excess> excess,
         const Priced* priced = nullptr)
      : problem_(problem), standings_(standings), excess_(excess), priced_(priced) {}

  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] Standings standings() const { return standings_; }
  [[nodiscard]] std::span<const Excess> excess() const { return excess_; }
  [[nodiscard]] const Priced* priced() const { return priced_; }
  [[nodiscard]] const cost::Standing& standing(OpId op) const {
    return known_of(problem_.front(op));
  }

  /// Whether the cuts of an op are known, and it is of a kind that is asked for.
  [[nodiscard]] bool hangs(OpId op) const;
  /// The op that makes what `op` reads, -1 if its cuts are not known.
  [[nodiscard]] OpId maker(OpId op) const;
  /// What counts of every cut of each front, the least for any of its ops.
  [[nodiscard]] std::vector<std::vector<double>> times() const;
  /// Seconds of all ops with their exchanges at most, by amount.
  [[nodiscard]] double longest() const;
  [[nodiscard]] TogetherKey key() const;

 private:
  [[nodiscard]] double longest(const cost::Standing& known) const;

  const Problem& problem_;
  Standings standings_;
  std::span<const Excess> excess_;
  const Priced* priced_;
};

}  // namespace elk::schedule
