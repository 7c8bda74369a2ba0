#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "elk/base/watch.hpp"
#include "elk/cost/forecast.hpp"
#include "elk/program/program.hpp"
#include "elk/schedule/orders.hpp"
#include "elk/schedule/problem.hpp"
#include "elk/schedule/schedule.hpp"

namespace elk::schedule {

/// A schedule as a placed program, with its forecast.
struct Found {
  Schedule schedule;
  std::vector<InPlace> in_place;
  program::Program program;
  std::vector<Bytes> occupancy;
  cost::TimelineResult times;
  Policy origin;               // the policy whose schedule this is
  Seconds raw;                 // of the asked policy's own schedule
  std::int32_t solved_layers;  // periods that the induction solved itself; 0: it did not run
  OrderSearch orders;          // of ELK-Full
  std::optional<Seconds> judged = std::nullopt;  // what the judge said, if it was asked
  // Choices of all schedules that fit, by any policy. GCC wants the initializer.
  std::vector<std::vector<Choice>> considered = {};  // NOLINT(readability-redundant-member-init)
  // The least that finds this schedule, where efforts build on one another.
  Effort effort = Effort::Fast;
  // For each policy up to the asked one, lowest first, the shortest forecast of all that it would
  // have placed if it had been asked; infinite: nothing.
  std::vector<Seconds> least = {};  // NOLINT(readability-redundant-member-init)
};

/// Tells how long placed programs take.
using Judge = std::function<std::vector<Seconds>(std::span<const program::Program* const>)>;

struct SearchOptions {
  Policy policy = Policy::ElkFull;
  Effort effort = Effort::Default;
  int threads = 0;
  // None: forecasts decide. GCC wants the initializer.
  Judge judge = {};  // NOLINT(readability-redundant-member-init)
  Watch* watch = nullptr;
};

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

/// The best schedule of the policy and of every baseline below it, by the judge (design 6.6): a
/// schedule whose forecast is so far behind the best that no judge has been seen to turn it round
/// is not put before it. What a policy adds never depends on a policy above it, nor, where a
/// problem recounts, on a higher effort: there, too, more effort never returns worse. Throws
/// Infeasible with the op that does not fit, the limit, and by how many bytes.
[[nodiscard]] Found search(Problem& problem, const SearchOptions& options);

}  // namespace elk::schedule
