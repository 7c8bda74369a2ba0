#include "elk/schedule/policies/searcher.hpp"

#include <algorithm>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/mechanisms.hpp"
#include "elk/base/parallel.hpp"
#include "elk/schedule/improve/align.hpp"
#include "elk/schedule/policies/finals.hpp"
#include "elk/schedule/policies/induction.hpp"
#include "elk/schedule/problem/schedule_tuning.hpp"
#include "elk/schedule/timing/evaluate.hpp"

namespace elk::schedule {
Searcher::Searcher(Problem& problem, Effort effort)
    : problem_(&problem),
      effort_(effort),
      room_(chip::room(problem.chip())),
      contention_(schedule::contention(problem)) {}

void Searcher::search(Policy policy) {
  if (!keep_handed(policy) && proposes(policy, problem_->chip())) {
    entry(policy).propose(*this);
  }
  if (problem_->recounts()) {
    misled_ = misled(policy);
  }
}

void Searcher::search_on(Policy policy, Searcher& less) {
  take(policy, less);
  bool again = mechanisms().search_again && (misled_ || entry(policy).takes_effort);
  for (int more = tuning::kSearchesAgain[static_cast<std::size_t>(effort_)]; again && more > 0;
       --more) {
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
  best.explored = explored_;
  best.orders.edit_distance = edit_distance(problem_->loaded(), best.schedule.preload_order);
  for (const Contender& candidate : candidates_) {
    best.considered.push_back(candidate.proposal.choices);
  }
  return best;
}

void Searcher::for_each_lateness(const std::function<void()>& propose) {
  const Contention computed = contention_;
  for (const double late : {1.0, 0.0}) {
    contention_ = computed;
    contention_.late = late;
    propose();
  }
  contention_ = computed;
}

void Searcher::at_share(double share, const std::function<void()>& propose) {
  const Contention computed = contention_;
  contention_.share = share;
  propose();
  contention_ = computed;
}

const std::vector<Contender>& Searcher::contenders() {
  sort_candidates();
  return candidates_;
}

bool Searcher::keep_handed(Policy policy) {
  bool kept = false;
  if (options_->handed) {
    for (Proposal& one : options_->handed(*problem_)) {
      kept = keep(policy, std::move(one)) || kept;
    }
  }
  return kept;
}

void Searcher::sort_candidates() {
  std::stable_sort(candidates_.begin(), candidates_.end(),
                   [](const Contender& a, const Contender& b) {
                     return a.times.total.value < b.times.total.value;
                   });
}

bool Searcher::consider(Policy policy, Proposal proposal) {
  if (!mechanisms().align) {
    return keep(policy, std::move(proposal));
  }
  Proposal aligned = proposal;
  align(*problem_, aligned.choices, contention_, room_);
  const bool kept = keep(policy, std::move(proposal));
  return keep(policy, std::move(aligned)) || kept;
}

bool Searcher::keep(Policy policy, Proposal proposal) {
  Contender candidate{
      .policy = policy, .proposal = std::move(proposal), .situation = {}, .issue = {}, .times = {}};
  candidate.situation = situation(*problem_, candidate.proposal.choices);
  candidate.issue = issue(*problem_, candidate.situation,
                          preload_order(*problem_, candidate.proposal), candidate.proposal.space);
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
  std::vector<std::optional<PlacedCandidate>> placed = parallel_map(
      policies,
      [&](Policy policy) {
        return shortest_placed(*problem_, policy, candidates_, room_, options_->threads);
      },
      options_->threads);
  for (std::optional<PlacedCandidate>& one : placed) {
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
  for (int counted = 0; counted < tuning::kMostRecounts; ++counted) {
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
    const bool longer = promised.value * tuning::kMisled < final.times.total.value;
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
