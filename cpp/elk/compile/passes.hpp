#pragma once

#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/compile/bounds_book.hpp"
#include "elk/ir/graph.hpp"
#include "elk/schedule/bound/bounds.hpp"
#include "elk/schedule/policies/ideal.hpp"
#include "elk/schedule/policies/search.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/tile/tile.hpp"

namespace elk::compile {

/// One of equal slices in which a graph goes, and its op that each of the graph repeats.
struct RepeatedSlice {
  ir::Graph graph;
  Table<OpId, OpId> op_of;
};

/// What is planned: a graph, by a search or by that of a slice. Null: it has none.
struct PassesInput {
  const ir::Graph& graph;
  const RepeatedSlice* slice;
};

/// All passes on one graph and one machine, for one policy after another: they share everything up
/// to the schedule, and each continues where the one below it ended. What a policy is told is the
/// same whichever were asked before.
class Passes {
 public:
  /// Throws Infeasible where an op fits in no way, and what `given_plans` throws. `tiles`, and what
  /// the options keep, must live as long.
  Passes(const PassesInput& input, chip::Chip chip, const tile::TileModel& tiles,
         const Options& options);

  /// The plan of the policy of `options`, which differ from those before in nothing but it, the
  /// threads and the watch; and that of the ideal. Throws Infeasible.
  [[nodiscard]] PlanAndIdeal compiled(const Options& options);
  /// Known as soon as a policy has searched, even where it found nothing.
  [[nodiscard]] const std::optional<schedule::Bounds>& bounds() const { return bounds_; }
  /// Whether every search came to its end.
  [[nodiscard]] bool sound() const { return sound_; }

  /// Held by whoever uses it.
  [[nodiscard]] std::mutex& mutex() { return mutex_; }

 private:
  /// How far the search is, with a problem of its own.
  struct SearchProgress {
    schedule::Problem problem;
    schedule::PolicySearch searches;

    SearchProgress(schedule::Problem some, schedule::Effort effort)
        : problem(std::move(some)), searches(problem, effort) {}
    SearchProgress(const SearchProgress& other)
        : problem(other.problem), searches(other.searches, problem) {}
    SearchProgress& operator=(const SearchProgress&) = delete;
    SearchProgress(SearchProgress&&) = delete;
    SearchProgress& operator=(SearchProgress&&) = delete;
    ~SearchProgress() = default;
  };

  /// What a policy was told, if it was asked.
  struct PolicyAnswer {
    std::optional<PlanAndIdeal> made;
    std::exception_ptr why_not;

    [[nodiscard]] bool empty() const { return !made && !why_not; }
  };

  [[nodiscard]] schedule::Problem problem(ir::Graph& graph, const Options& options);
  [[nodiscard]] schedule::SearchOptions search_options(const ir::Graph& graph,
                                                       const Options& options) const;
  void search_to(const Options& options);
  [[nodiscard]] std::optional<schedule::Schedule> found_of_slice(const Options& options);
  [[nodiscard]] std::vector<schedule::Proposal> repeated(const schedule::Schedule& of_slice,
                                                         schedule::Problem& problem) const;
  [[nodiscard]] PlanAndIdeal found_by(const Options& options);
  [[nodiscard]] PlanAndIdeal made(schedule::Problem& problem, schedule::Found found,
                                  const Options& options) const;

  ir::Graph graph_;
  std::optional<RepeatedSlice> slice_;
  chip::Chip chip_;
  const tile::TileModel& tiles_;
  bool keeps_;  // for other policies
  Search counts_;
  std::unique_ptr<SearchProgress> of_slice_;
  std::unique_ptr<SearchProgress> last_;  // of the highest policy asked for
  std::size_t reached_ = 0;               // policies that have proposed
  std::vector<std::unique_ptr<SearchProgress>> passed_{
      schedule::policies().size()};  // by step: those that were not
  std::optional<schedule::Ideal> alone_;
  std::optional<schedule::Bounds> bounds_;
  std::vector<PolicyAnswer> told_{schedule::policies().size()};  // by policy
  std::atomic<bool> sound_ = true;
  std::mutex mutex_;
};

/// Plans of fronts, summed up.
[[nodiscard]] Search counts(const std::vector<cost::Front>& fronts);

/// What the passes make of a graph and a machine, with the bounds of this space, by what is kept of
/// other policies if anything is.
[[nodiscard]] PlanAndIdeal compiled_on(const PassesInput& input, const chip::Chip& chip,
                                       const tile::TileModel& tiles, const Options& options,
                                       BoundsBook& spaces);

}  // namespace elk::compile
