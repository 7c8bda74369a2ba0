#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "elk/base/mechanisms.hpp"
#include "elk/base/parallel.hpp"
#include "elk/schedule/improve/carried.hpp"
#include "elk/schedule/improve/polish.hpp"
#include "elk/schedule/improve/reconcile.hpp"
#include "elk/schedule/policies/induction.hpp"
#include "elk/schedule/policies/placement.hpp"
#include "elk/schedule/policies/registry.hpp"
#include "elk/schedule/policies/searcher.hpp"
#include "elk/schedule/problem/schedule_tuning.hpp"
#include "elk/schedule/timing/ideal_times.hpp"

namespace elk::schedule {
namespace {

void propose_induced(Searcher& search) {
  const Bytes room = search.room();
  InductionResult induced = induce(search.problem(), search.contention(), room);
  search.solved_layers() = induced.solved_layers;
  search.consider(Policy::ElkDyn,
                  {.choices = std::move(induced.choices),
                   .space = {.room = room, .preload_room = room, .not_before = {}}});
}

/// On a chip without HBM, T10's trade where executes have a part of the room: the best parts, by
/// what plans take where they gather all that they read or, as `gathers` says, nothing.
void propose_reconciled(Searcher& search, Gathers gathers) {
  const Bytes room = search.room();
  std::vector<ReconcileLimits> parts;
  for (std::int64_t part = 1; part < tuning::kSplitsTried; ++part) {
    parts.push_back(
        {.room = room, .active = {room.value / tuning::kSplitsTried * part}, .gathers = gathers});
  }
  const std::vector<double> seconds = parallel_map(
      parts,
      [&](const ReconcileLimits& limits) {
        return reconcile(search.problem(), search.contention(), limits).seconds;
      },
      search.threads());
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return seconds[a] < seconds[b]; });
  for (const std::size_t best : std::span(order).first(tuning::kSplitsKept)) {
    for (Proposal& one : reconciled(search.problem(), search.contention(), parts[best])) {
      search.consider(Policy::ElkDyn, std::move(one));
    }
  }
}

/// One cut after another in as many ops as can take it, preloads in their largest state, or,
/// where that does not fit, in their smallest.
void propose_carried(Searcher& search) {
  if (!mechanisms().carried || search.contenders().empty()) {
    return;
  }
  const Contender best = search.contenders().front();
  const PreloadLimits space{.room = search.room(), .preload_room = search.room(), .not_before = {}};
  for (auto& choices : carried(search.problem(), best.proposal.choices, best.times.total)) {
    if (!search.keep(Policy::ElkDyn, {.choices = choices, .space = space})) {
      search.keep(Policy::ElkDyn,
                  {.choices = least_preloaded(search.problem(), choices), .space = space});
    }
  }
}

/// The best proposals so far, changed op by op until nothing helps.
void propose_polished(Searcher& search) {
  std::vector<Proposal> best;
  for (const Contender& one : search.contenders()) {
    if (best.size() < tuning::kPolished) {
      best.push_back(one.proposal);
    }
  }
  const chip::Chip& chip = search.problem().chip();
  const std::int64_t beside = chip::routed(chip) ? tuning::kPolishOnGrid : tuning::kPolish;
  std::int64_t left = chip.hbm ? beside : tuning::kPolishAtRest;
  for (std::size_t i = 0; mechanisms().polish && i < best.size() && left > 0 && !search.stopped();
       ++i) {
    left -= polish(search.problem(), best[i], search.contention(),
                   {.most = left, .threads = search.threads()});
    search.keep(Policy::ElkDyn, std::move(best[i]));
  }
}

}  // namespace

template <>
void propose<Policy::ElkDyn>(Searcher& search) {
  if (search.problem().chip().hbm && mechanisms().induction) {
    search.for_each_lateness([&] {
      for (const double share : {search.contention().share, 0.0, 0.5}) {
        if (!search.stopped()) {
          search.at_share(share, [&] { propose_induced(search); });
        }
      }
    });
  }
  if (!search.problem().chip().hbm) {
    propose_reconciled(search, Gathers::Everything);
    propose_reconciled(search, Gathers::Nothing);
  }
  propose_carried(search);
  propose_polished(search);
}

}  // namespace elk::schedule
