#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/schedule/improve/orders.hpp"
#include "elk/schedule/policies/found.hpp"
#include "elk/schedule/policies/placement.hpp"
#include "elk/schedule/policies/registry.hpp"
#include "elk/schedule/policies/search.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/schedule.hpp"
#include "elk/schedule/timing/allocate.hpp"
#include "elk/schedule/timing/proposal.hpp"

namespace elk::schedule {

/// What policies propose on a problem with some effort, one after another.
class Searcher {
 public:
  Searcher(Problem& problem, Effort effort);

  /// From now on works on a copy of its problem.
  void use(Problem& copy) { problem_ = &copy; }
  /// What its next steps are asked for; must live as long.
  void use(const SearchOptions& options) { options_ = &options; }

  /// Has the policy propose. On a grid too large to count all that is looked at: then counts what
  /// the best of the policy moves, and forecasts all proposals anew.
  void search(Policy policy);

  /// Takes what the policy proposed with less effort. Where it was misled, it does not know what it
  /// should have avoided before it has chosen it: then it proposes again. ELK-Full does so in any
  /// case, with what its effort adds.
  void search_on(Policy policy, Searcher& less);

  /// Places what the policies up to the asked one proposed, where that has not been done.
  void settle();

  /// The best of what was proposed by the policies up to the asked one, the last that proposed.
  /// Throws Infeasible.
  [[nodiscard]] Found best();

  // What policies propose with.

  [[nodiscard]] Problem& problem() { return *problem_; }
  [[nodiscard]] const Contention& contention() const { return contention_; }
  [[nodiscard]] Bytes room() const { return room_; }
  [[nodiscard]] Effort effort() const { return effort_; }
  [[nodiscard]] int threads() const { return options_->threads; }
  [[nodiscard]] Watch* watch() const { return options_->watch; }
  /// Whether the best so far is wanted now.
  [[nodiscard]] bool stopped() const { return Watch::stops(options_->watch); }

  /// Proposes where a slower preload costs all of its time, and where it costs nothing: where
  /// executes bind it costs nothing, where preloads do all it takes, and neither is known before
  /// there is a schedule. The forecast decides between the extremes.
  void for_each_lateness(const std::function<void()>& propose);
  /// Proposes with preloads that take this share of the port.
  void at_share(double share, const std::function<void()>& propose);

  /// Forecasts the proposal as it is and with plans that suit their neighbours, and keeps what
  /// fits; whether any did.
  bool consider(Policy policy, Proposal proposal);
  /// Forecasts the proposal as it is, and keeps it if it fits; whether it does.
  bool keep(Policy policy, Proposal proposal);
  /// All that was kept so far, the shortest forecast first.
  [[nodiscard]] const std::vector<Contender>& contenders();

  /// Where an induction leaves how many periods it solved, and ELK-Full what it tried.
  [[nodiscard]] std::int32_t& solved_layers() { return solved_layers_; }
  [[nodiscard]] OrderSearch& orders() { return orders_; }
  /// Where T10 leaves what it explored.
  [[nodiscard]] std::vector<IdlePoint>& explored() { return explored_; }

 private:
  /// Keeps what the policy was handed, if it was handed anything that fits; whether it was.
  bool keep_handed(Policy policy);
  void sort_candidates();
  void note(const std::optional<Shortage>& shortage);
  void take(Policy policy, Searcher& less);
  [[nodiscard]] bool misled(Policy policy);
  void keep_shortest(Found final);
  void forecast_anew();

  Problem* problem_;
  const SearchOptions* options_ = nullptr;
  Effort effort_;
  Bytes room_;
  Contention contention_;
  bool misled_ = false;  // by what was not counted, in the last search
  std::vector<Contender> candidates_;
  std::vector<Found> finals_;  // of each policy and effort
  std::size_t settled_ = 0;    // policies whose proposals were placed, where nothing is recounted
  std::optional<Shortage> shortage_;
  std::int32_t solved_layers_ = 0;
  OrderSearch orders_;
  std::vector<IdlePoint> explored_;
};

}  // namespace elk::schedule
