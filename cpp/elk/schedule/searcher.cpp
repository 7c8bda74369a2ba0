#include "elk/schedule/searcher.hpp"

#include <algorithm>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/parallel.hpp"
#include "elk/schedule/align.hpp"
#include "elk/schedule/carried.hpp"
#include "elk/schedule/evaluate.hpp"
#include "elk/schedule/finals.hpp"
#include "elk/schedule/full.hpp"
#include "elk/schedule/ideal_times.hpp"
#include "elk/schedule/induction.hpp"
#include "elk/schedule/polish.hpp"
#include "elk/schedule/resident.hpp"

namespace elk::schedule {
namespace {

constexpr std::size_t kSplitsKept = 3;  // of Static's splits, forecast again between neighbours
constexpr std::size_t kPolished = 16;   // proposals, as long as there is
constexpr std::int64_t kPolish = 1'500'000;          // work left
constexpr std::int64_t kPolishOnGrid = 2 * kPolish;  // where one op's cut costs others more
constexpr std::int64_t kPolishAtRest = 4 * kPolish;  // without HBM, where no annealing follows

/// By how much links that were not counted have to lengthen a schedule to be worth another search.
constexpr double kMisled = 1.01;
constexpr int kMostRecounts = 2;  // proposals of a policy, until one is as short as it seemed
constexpr std::array<int, 3> kSearchesAgain = {0, 1, 7};  // beyond those of less effort

}  // namespace

Searcher::Searcher(Problem& problem, Effort effort)
    : problem_(&problem),
      effort_(effort),
      room_(chip::room(problem.chip())),
      contention_(contention(problem)) {}

void Searcher::search(Policy policy) {
  propose(policy);
  if (problem_->recounts()) {
    misled_ = misled(policy);
  }
}

void Searcher::search_on(Policy policy, Searcher& less) {
  take(policy, less);
  bool again = misled_ || (policy == Policy::ElkFull && problem_->chip().hbm);
  for (int more = kSearchesAgain[static_cast<std::size_t>(effort_)]; again && more > 0; --more) {
    if (stopped()) {
      return;
    }
    search(policy);
    again = misled_;
  }
}

Found Searcher::best() {
  settle();
  if (finals_.empty()) {
    refuse(*problem_, room_, shortage_);
  }
  Found best = best_of(finals_, *options_);
  best.solved_layers = solved_layers_;
  best.orders = orders_;
  best.orders.edit_distance = edit_distance(problem_->loaded(), best.schedule.preload_order);
  for (const Contender& candidate : candidates_) {
    best.considered.push_back(candidate.proposal.choices);
  }
  return best;
}

template <class Propose>
void Searcher::for_each_lateness(const Propose& propose) {
  const Contention computed = contention_;
  for (const double late : {1.0, 0.0}) {
    contention_ = computed;
    contention_.late = late;
    propose();
  }
  contention_ = computed;
}

/// Where executes bind, a slower preload costs nothing; where preloads do, all it takes. Neither
/// is known before there is a schedule, nor is the share of the port that preloads will take: the
/// forecast decides between the extremes.
void Searcher::propose(Policy policy) {
  const bool loads = problem_->chip().hbm.has_value();
  switch (policy) {
    case Policy::Basic:
      for_each_lateness([&] { propose_basic(); });
      break;
    case Policy::Static:
      if (loads) {
        for_each_lateness([&] { propose_static(); });
      }
      break;
    case Policy::ElkDyn:
      if (loads) {
        for_each_lateness([&] { propose_dynamic_at_shares(); });
      }
      propose_carried();
      propose_polished();
      break;
    case Policy::ElkFull:
      if (loads && !stopped()) {
        propose_full();
      }
      break;
    case Policy::Ideal:
      break;
    case Policy::StaticPaper:
      propose_published();
      break;
  }
}

void Searcher::propose_basic() {
  if (problem_->chip().hbm) {
    consider(Policy::Basic, basic(*problem_, contention_, room_));
    return;
  }
  for (Proposal& proposal : residents(*problem_, contention_, room_)) {
    consider(Policy::Basic, std::move(proposal));
  }
}

void Searcher::propose_static() {
  for (Proposal& proposal :
       fixed_splits(*problem_, contention_, room_, kSplitsKept, options_->threads)) {
    consider(Policy::Static, std::move(proposal));
  }
}

void Searcher::propose_published() {
  const Contention alone{.share = 0.0, .drag = contention_.drag, .late = 0.0};
  const std::vector<Proposal> proposals =
      problem_->chip().hbm ? fixed_splits(*problem_, alone, room_, kSplitsKept, options_->threads)
                           : residents(*problem_, alone, room_);
  for (const Proposal& proposal : proposals) {
    keep(Policy::StaticPaper, proposal);
  }
}

void Searcher::propose_dynamic_at_shares() {
  for (const double share : {contention_.share, 0.0, 0.5}) {
    contention_.share = share;
    if (!stopped()) {
      propose_dynamic();
    }
  }
}

/// Induction under all of the room, and under less where the true neighbours need more.
void Searcher::propose_dynamic() {
  for (const std::int64_t unused : kUnusedParts) {
    Induced induced =
        induce(*problem_, contention_, {room_.value - (room_.value / kPartsOfRoom * unused)});
    solved_layers_ = induced.solved_layers;
    const Space space{.room = room_, .preload_room = room_, .not_before = {}};
    if (consider(Policy::ElkDyn, {.choices = std::move(induced.choices), .space = space})) {
      return;
    }
  }
}

/// One cut after another in as many ops as can take it, preloads in their largest state, or,
/// where that does not fit, in their smallest.
void Searcher::propose_carried() {
  sort_candidates();
  if (candidates_.empty()) {
    return;
  }
  const Contender best = candidates_.front();
  const Space space{.room = room_, .preload_room = room_, .not_before = {}};
  for (auto& choices : carried(*problem_, best.proposal.choices, best.times.total)) {
    if (!keep(Policy::ElkDyn, {.choices = choices, .space = space})) {
      keep(Policy::ElkDyn, {.choices = least_preloaded(*problem_, choices), .space = space});
    }
  }
}

/// The best proposals so far, changed op by op until nothing helps.
void Searcher::propose_polished() {
  sort_candidates();
  const bool loads = problem_->chip().hbm.has_value();
  const std::size_t most = loads ? kPolished : 2 * kPolished;
  std::vector<Proposal> best;
  for (std::size_t i = 0; i < std::min(most, candidates_.size()); ++i) {
    best.push_back(candidates_[i].proposal);
  }
  const std::int64_t beside = chip::routed(problem_->chip()) ? kPolishOnGrid : kPolish;
  std::int64_t left = loads ? beside : kPolishAtRest;
  for (std::size_t i = 0; i < best.size() && left > 0 && !stopped(); ++i) {
    left -= polish(*problem_, best[i], contention_, {.most = left, .threads = options_->threads});
    keep(Policy::ElkDyn, std::move(best[i]));
  }
}

void Searcher::propose_full() {
  sort_candidates();
  std::vector<Proposal> starts;
  for (const Contender& candidate : candidates_) {
    const bool known = std::any_of(starts.begin(), starts.end(), [&](const Proposal& other) {
      return other.choices == candidate.proposal.choices;
    });
    if (!known && starts.size() < starts_of(effort_)) {
      starts.push_back(candidate.proposal);
    }
  }
  const FullOptions full{
      .effort = effort_, .threads = options_->threads, .room = room_, .watch = options_->watch};
  for (Proposal& found : improve(*problem_, starts, contention_, full, orders_)) {
    keep(Policy::ElkFull, std::move(found));
  }
}

void Searcher::sort_candidates() {
  std::stable_sort(candidates_.begin(), candidates_.end(),
                   [](const Contender& a, const Contender& b) {
                     return a.times.total.value < b.times.total.value;
                   });
}

/// Forecasts the proposal as it is and with plans that suit their neighbours, and keeps what
/// fits; whether any did.
bool Searcher::consider(Policy policy, Proposal proposal) {
  Proposal aligned = proposal;
  align(*problem_, aligned.choices, contention_, room_);
  const bool kept = keep(policy, std::move(proposal));
  return keep(policy, std::move(aligned)) || kept;
}

bool Searcher::keep(Policy policy, Proposal proposal) {
  Contender candidate{
      .policy = policy, .proposal = std::move(proposal), .situation = {}, .issue = {}, .times = {}};
  candidate.situation = situation(*problem_, candidate.proposal.choices);
  candidate.issue =
      issue(*problem_, candidate.proposal, candidate.situation, candidate.proposal.space);
  if (candidate.issue.shortage) {
    note(candidate.issue.shortage);
    return false;
  }
  const bool known =
      std::any_of(candidates_.begin(), candidates_.end(), [&](const Contender& other) {
        return other.policy == policy && other.proposal.choices == candidate.proposal.choices &&
               other.issue.issued_before == candidate.issue.issued_before &&
               other.proposal.order == candidate.proposal.order;
      });
  if (known) {
    return true;
  }
  candidate.times =
      timing(*problem_, candidate.situation, preload_order(*problem_, candidate.proposal),
             candidate.issue.issued_before);
  candidates_.push_back(std::move(candidate));
  return true;
}

void Searcher::note(const std::optional<Shortage>& shortage) {
  if (shortage && (!shortage_ || shortage->excess < shortage_->excess)) {
    shortage_ = shortage;
  }
}

void Searcher::settle() {
  if (problem_->recounts()) {
    return;
  }
  sort_candidates();
  std::vector<Policy> policies = policies_to(options_->policy);
  policies.erase(policies.begin(), policies.begin() + static_cast<std::ptrdiff_t>(settled_));
  settled_ += policies.size();
  std::vector<std::optional<Placed>> placed = parallel_map(
      policies,
      [&](Policy policy) {
        return shortest_placed(*problem_, policy, candidates_, room_, options_->threads);
      },
      options_->threads);
  for (std::optional<Placed>& one : placed) {
    if (one) {
      finals_.push_back(found(*problem_, std::move(*one)));
    }
  }
  for (Contender& candidate : candidates_) {  // What only placement asks for.
    candidate.situation = {};
    candidate.times = {
        .preloads = {}, .executes = {}, .stores = {}, .total = candidate.times.total};
  }
}

void Searcher::take(Policy policy, Searcher& less) {
  for (const Contender& candidate : less.candidates_) {
    if (candidate.policy == policy) {
      Contender& own = candidates_.emplace_back(candidate);
      own.proposal.choices = problem_->take(*less.problem_, own.proposal.choices);
    }
  }
  for (Found& final : less.finals_) {
    if (final.origin == policy) {
      final.schedule.ops = problem_->take(*less.problem_, final.schedule.ops);
      finals_.push_back(std::move(final));
    }
  }
  std::erase_if(less.finals_, [&](const Found& final) { return final.origin == policy; });
  note(less.shortage_);
  misled_ = less.misled_;
  solved_layers_ = less.solved_layers_;
  orders_ = less.orders_;
  forecast_anew();
}

/// Counts the best proposal of the policy, then that which is best at the new prices, until it
/// is as short as it seemed. Whether the first was not.
bool Searcher::misled(Policy policy) {
  for (int counted = 0; counted < kMostRecounts; ++counted) {
    sort_candidates();
    auto placed = shortest_placed(*problem_, policy, candidates_, room_, options_->threads);
    if (!placed) {
      return counted > 0;
    }
    Found final = found(*problem_, std::move(*placed));
    final.effort = effort_;
    const Seconds promised = final.times.total;
    problem_->recount(final.schedule.ops, options_->threads);
    reprice(*problem_, final);
    const bool longer = promised.value * kMisled < final.times.total.value;
    keep_shortest(std::move(final));
    forecast_anew();
    if (!longer) {
      return counted > 0;
    }
  }
  return true;
}

/// Keeps `final` if it is the shortest of its policy, instead of others of its effort.
void Searcher::keep_shortest(Found final) {
  const auto rivals = [&](const Found& one) { return one.origin == final.origin; };
  const bool longer = std::any_of(finals_.begin(), finals_.end(), [&](const Found& one) {
    return rivals(one) && one.times.total <= final.times.total;
  });
  if (!longer) {
    std::erase_if(finals_,
                  [&](const Found& one) { return rivals(one) && one.effort == final.effort; });
    finals_.push_back(std::move(final));
  }
}

/// At what the problem now says of costs.
void Searcher::forecast_anew() {
  for (Contender& candidate : candidates_) {
    candidate.situation = situation(*problem_, candidate.proposal.choices);
    candidate.times =
        timing(*problem_, candidate.situation, preload_order(*problem_, candidate.proposal),
               candidate.issue.issued_before);
  }
}

}  // namespace elk::schedule
