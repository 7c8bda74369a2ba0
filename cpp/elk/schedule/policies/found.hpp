#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/watch.hpp"
#include "elk/cost/forecast.hpp"
#include "elk/program/program.hpp"
#include "elk/schedule/improve/orders.hpp"
#include "elk/schedule/improve/reconcile.hpp"
#include "elk/schedule/policies/registry.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/schedule.hpp"
#include "elk/schedule/timing/proposal.hpp"

namespace elk::schedule {

/// A schedule as a placed program, with its forecast.
struct Found {
  Schedule schedule;
  Table<OpId, InPlaceCost> in_place;
  program::Program program;
  std::vector<Bytes> occupancy;
  cost::TimelineResult times;
  Policy origin;               // the policy whose schedule this is
  Seconds raw;                 // of the asked policy's own schedule
  std::int32_t solved_layers;  // periods that the induction solved itself; 0: it did not run
  OrderSearch orders;          // of ELK-Full
  // Of T10. GCC wants the initializer.
  std::vector<IdlePoint> explored = {};          // NOLINT(readability-redundant-member-init)
  std::optional<Seconds> judged = std::nullopt;  // what the judge said, if it was asked
  // Choices of all schedules that fit, by any policy. GCC wants the initializer.
  std::vector<Table<OpId, Choice>> considered = {};  // NOLINT(readability-redundant-member-init)
  // The least that finds this schedule, where efforts build on one another.
  Effort effort = Effort::Fast;
  // For each policy up to the asked one, lowest first, the shortest forecast of all that it would
  // have placed if it had been asked; infinite: nothing.
  std::vector<Seconds> least = {};  // NOLINT(readability-redundant-member-init)
};

/// Tells a policy what it proposes in place of a search, in terms of a problem.
using HandedProposals = std::function<std::vector<Proposal>(Problem&)>;

/// Tells how long placed programs take.
using Judge = std::function<std::vector<Seconds>(std::span<const program::Program* const>)>;

struct SearchOptions {
  Policy policy = Policy::ElkFull;
  Effort effort = Effort::Default;
  int threads = 0;
  // None: forecasts decide. GCC wants the initializer.
  Judge judge = {};  // NOLINT(readability-redundant-member-init)
  Watch* watch = nullptr;
  // None, or where nothing of it fits: the policy searches. GCC wants the initializer.
  HandedProposals handed = {};  // NOLINT(readability-redundant-member-init)
};

}  // namespace elk::schedule
