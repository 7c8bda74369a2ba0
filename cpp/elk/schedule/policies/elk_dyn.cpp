#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "elk/base/mechanisms.hpp"
#include "elk/schedule/improve/carried.hpp"
#include "elk/schedule/improve/polish.hpp"
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
  const chip::Chip& chip = search.problem().chip();
  const std::size_t most = chip.hbm ? tuning::kPolished : 2 * tuning::kPolished;
  std::vector<Proposal> best;
  for (const Contender& one : search.contenders()) {
    if (best.size() < most) {
      best.push_back(one.proposal);
    }
  }
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
  propose_carried(search);
  propose_polished(search);
}

}  // namespace elk::schedule
