#pragma once

#include <vector>

#include "elk/schedule/policies/found.hpp"
#include "elk/schedule/problem/problem.hpp"

namespace elk::schedule {

class Searcher;

/// The search of one policy after another on one problem. Each policy proposes after those below
/// it, so that it meets the proposals that they make by themselves, and nothing that one adds
/// depends on those above it: asked for by itself, a policy finds the same. Where the problem
/// recounts, every effort searches on a problem of its own after less effort has: what a policy
/// finds depends on policies and efforts up to its own alone.
class PolicySearch {
 public:
  /// `problem` must live as long.
  PolicySearch(Problem& problem, Effort effort);
  /// The search as far as `other` is, on a copy of its problem.
  PolicySearch(const PolicySearch& other, Problem& copy);
  ~PolicySearch();
  PolicySearch(const PolicySearch&) = delete;
  PolicySearch& operator=(const PolicySearch&) = delete;
  PolicySearch(PolicySearch&&) = delete;
  PolicySearch& operator=(PolicySearch&&) = delete;

  /// Has the policy of `options` propose, the next above those that have.
  void propose(const SearchOptions& options);
  /// Places what was proposed, which `best` does otherwise, and forgets what it needed for that.
  void settle(const SearchOptions& options);
  /// The best of all proposals, which are those up to the policy of `options`. Throws Infeasible.
  [[nodiscard]] Found best(const SearchOptions& options);

 private:
  std::vector<Problem> less_;  // of less effort
  std::vector<Searcher> searchers_;
};

/// The best schedule of the policy and of every baseline below it, by the judge (design 6.6). What
/// a policy adds never depends on a policy above it, nor, where a problem recounts, on a higher
/// effort: there, too, more effort never returns worse. Throws Infeasible with the op that does not
/// fit, the limit, and by how many bytes.
[[nodiscard]] Found search(Problem& problem, const SearchOptions& options);

}  // namespace elk::schedule
