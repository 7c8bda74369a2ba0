#include "elk/schedule/search.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/parallel.hpp"
#include "elk/schedule/align.hpp"
#include "elk/schedule/baselines.hpp"
#include "elk/schedule/evaluate.hpp"
#include "elk/schedule/full.hpp"
#include "elk/schedule/induction.hpp"
#include "elk/schedule/placement.hpp"
#include "elk/schedule/polish.hpp"
#include "elk/schedule/resident.hpp"

namespace elk::schedule {
namespace {

constexpr std::size_t kSplitsKept = 3;  // of Static's splits, forecast again between neighbours
constexpr std::size_t kPolished = 4;    // proposals, as long as there is
constexpr std::int64_t kPolish = 1'500'000;          // work left
constexpr std::int64_t kPolishOnGrid = 2 * kPolish;  // where one op's cut costs others more
constexpr std::int64_t kPolishAtRest = 4 * kPolish;  // without HBM, where no annealing follows

/// By how much links that were not counted have to lengthen a schedule to be worth another search.
constexpr double kMisled = 1.01;
constexpr std::array<int, 3> kSearchesAgain = {0, 1, 8};  // by effort

/// A forecast this many times the best has not been seen to win a simulation.
constexpr double kHopeless = 1.1;
constexpr Seconds kEndless{std::numeric_limits<double>::infinity()};

/// The asked policy, then those below it, best first.
std::vector<Policy> policies_from(Policy policy) {
  std::vector<Policy> result;
  for (const Policy other : {Policy::ElkFull, Policy::ElkDyn, Policy::Static, Policy::Basic}) {
    if (other == policy || !result.empty()) {
      result.push_back(other);
    }
  }
  return result;
}

class Searcher {
 public:
  Searcher(Problem& problem, const SearchOptions& options)
      : problem_(problem),
        options_(options),
        room_(chip::room(problem.chip())),
        contention_(contention(problem)) {}

  /// Where executes bind, a slower preload costs nothing; where preloads do, all it takes. Neither
  /// is known before there is a schedule, nor is the share of the port that preloads will take: the
  /// forecast decides between the extremes. Each policy proposes after those below it, so that it
  /// meets the proposals that they make by themselves.
  Found run() {
    const Policy policy = options_.policy;
    const bool loads = problem_.chip().hbm.has_value();
    for_each_lateness([&] { propose_basic(); });
    if (policy != Policy::Basic && loads) {
      for_each_lateness([&] { propose_static(); });
    }
    if (policy == Policy::ElkDyn || policy == Policy::ElkFull) {
      if (loads) {
        for_each_lateness([&] { propose_dynamic_at_shares(); });
      }
      propose_polished();
    }
    if (policy == Policy::ElkFull && loads && !stopped()) {
      propose_full();
    }
    return best_placed();
  }

  /// Whether the best takes longer than the search could know before what it moves was counted.
  [[nodiscard]] bool misled(const Found& best) const {
    return promised_.value * kMisled < best.times.total.value;
  }

 private:
  template <class Propose>
  void for_each_lateness(const Propose& propose) {
    const Contention computed = contention_;
    for (const double late : {1.0, 0.0}) {
      contention_ = computed;
      contention_.late = late;
      propose();
    }
    contention_ = computed;
  }

  /// Whether the best so far is wanted now.
  [[nodiscard]] bool stopped() const { return Watch::stops(options_.watch); }

  void propose_basic() {
    if (problem_.chip().hbm) {
      consider(Policy::Basic, basic(problem_, contention_, room_));
      return;
    }
    for (Proposal& proposal : residents(problem_, contention_, room_)) {
      consider(Policy::Basic, std::move(proposal));
    }
  }

  void propose_static() {
    for (Proposal& proposal :
         fixed_splits(problem_, contention_, room_, kSplitsKept, options_.threads)) {
      consider(Policy::Static, std::move(proposal));
    }
  }

  void propose_dynamic_at_shares() {
    for (const double share : {contention_.share, 0.0, 0.5}) {
      contention_.share = share;
      if (!stopped()) {
        propose_dynamic();
      }
    }
  }

  /// Induction under all of the room, and under less where the true neighbours need more.
  void propose_dynamic() {
    for (const std::int64_t unused : kUnusedParts) {
      Induced induced =
          induce(problem_, contention_, {room_.value - (room_.value / kPartsOfRoom * unused)});
      solved_layers_ = induced.solved_layers;
      const Space space{.room = room_, .preload_room = room_, .not_before = {}};
      if (consider(Policy::ElkDyn, {.choices = std::move(induced.choices), .space = space})) {
        return;
      }
    }
  }

  /// The best proposals so far, changed op by op until nothing helps.
  void propose_polished() {
    sort_candidates();
    const bool loads = problem_.chip().hbm.has_value();
    const std::size_t most = loads ? kPolished : 2 * kPolished;
    std::vector<Proposal> best;
    for (std::size_t i = 0; i < std::min(most, candidates_.size()); ++i) {
      best.push_back(candidates_[i].proposal);
    }
    const std::int64_t beside = chip::is_mesh(problem_.chip()) ? kPolishOnGrid : kPolish;
    std::int64_t left = loads ? beside : kPolishAtRest;
    for (std::size_t i = 0; i < best.size() && left > 0 && !stopped(); ++i) {
      left -= polish(problem_, best[i], contention_, {.most = left, .threads = options_.threads});
      keep(Policy::ElkDyn, std::move(best[i]));
    }
  }

  void propose_full() {
    sort_candidates();
    std::vector<Proposal> starts;
    for (const Contender& candidate : candidates_) {
      const bool known = std::any_of(starts.begin(), starts.end(), [&](const Proposal& other) {
        return other.choices == candidate.proposal.choices;
      });
      if (!known && starts.size() < starts_of(options_.effort)) {
        starts.push_back(candidate.proposal);
      }
    }
    const FullOptions full{.effort = options_.effort,
                           .threads = options_.threads,
                           .room = room_,
                           .watch = options_.watch};
    for (Proposal& found : improve(problem_, starts, contention_, full, orders_)) {
      keep(Policy::ElkFull, std::move(found));
    }
  }

  void sort_candidates() {
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Contender& a, const Contender& b) {
                       return a.times.total.value < b.times.total.value;
                     });
  }

  /// Forecasts the proposal as it is and with plans that suit their neighbours, and keeps what
  /// fits; whether any did.
  bool consider(Policy policy, Proposal proposal) {
    Proposal aligned = proposal;
    align(problem_, aligned.choices, contention_, room_);
    const bool kept = keep(policy, std::move(proposal));
    return keep(policy, std::move(aligned)) || kept;
  }

  bool keep(Policy policy, Proposal proposal) {
    Contender candidate{.policy = policy,
                        .proposal = std::move(proposal),
                        .situation = {},
                        .issue = {},
                        .times = {}};
    candidate.situation = situation(problem_, candidate.proposal.choices);
    candidate.issue =
        issue(problem_, candidate.proposal, candidate.situation, candidate.proposal.space);
    if (candidate.issue.shortage) {
      if (!shortage_ || candidate.issue.shortage->excess < shortage_->excess) {
        shortage_ = candidate.issue.shortage;
      }
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
        timing(problem_, candidate.situation, preload_order(problem_, candidate.proposal),
               candidate.issue.issued_before);
    candidates_.push_back(std::move(candidate));
    return true;
  }

  /// The best placed program of all, by the judge.
  Found best_placed() {
    sort_candidates();
    std::vector<Found> finals = finalists();
    if (finals.empty()) {
      refuse();
    }
    recount(finals);
    Seconds raw = finals.front().times.total;
    for (const Found& found : finals) {
      raw = found.origin == options_.policy ? found.times.total : raw;
    }
    ask_judge(finals);
    Found best = std::move(*std::min_element(finals.begin(), finals.end(), takes_less));
    best.raw = raw;
    best.solved_layers = solved_layers_;
    best.orders = orders_;
    best.orders.edit_distance = edit_distance(problem_.loaded(), best.schedule.preload_order);
    return best;
  }

  /// The placed programs of a policy, each better than the one before; of one below the asked, of
  /// contenders that have a chance beside a program of `least`, which others find meanwhile.
  std::vector<Placed> placements(Policy policy, std::atomic<double>& least) const {
    std::vector<Placed> result;
    Seconds best = kEndless;
    for (const Contender& candidate : candidates_) {
      if (candidate.policy != policy || best <= candidate.times.total ||
          is_hopeless(candidate, least)) {
        continue;
      }
      if (auto placed = place(problem_, candidate, best, room_, options_.threads)) {
        best = placed->times.total;
        result.push_back(std::move(*placed));
        if (policy == options_.policy) {
          least = best.value;
        }
      }
    }
    return result;
  }

  [[nodiscard]] bool is_hopeless(const Contender& candidate, double least) const {
    return candidate.policy != options_.policy && candidate.times.total.value > kHopeless * least;
  }

  /// The best placed program of every policy that may win, by its forecast; best first. Policies
  /// place side by side: what they placed before they could know that it is hopeless beside those
  /// above them does not count.
  std::vector<Found> finalists() {
    const std::vector<Policy> policies = policies_from(options_.policy);
    std::atomic<double> known{kEndless.value};
    std::vector<std::vector<Placed>> placed = parallel_map(
        policies, [&](Policy policy) { return placements(policy, known); }, options_.threads);
    std::vector<Found> finals;
    double least = kEndless.value;
    for (std::vector<Placed>& some : placed) {
      while (!some.empty() && is_hopeless(*some.back().candidate, least)) {
        some.pop_back();
      }
      if (!some.empty()) {
        least = std::min(least, some.back().times.total.value);
        finals.push_back(found(problem_, std::move(some.back())));
      }
    }
    std::stable_sort(finals.begin(), finals.end(), is_shorter);
    return finals;
  }

  /// On a grid too large to count all that is looked at: counts what the finalists move.
  void recount(std::vector<Found>& finals) {
    if (!problem_.recounts()) {
      return;
    }
    promised_ = finals.front().times.total;
    for (Found& found : finals) {
      problem_.recount(found.schedule.ops, options_.threads);
      reprice(problem_, found);
    }
    std::stable_sort(finals.begin(), finals.end(), is_shorter);
  }

  /// Has the finalists judged, unless there is one alone. Those whose forecast is far behind are
  /// left out.
  void ask_judge(std::vector<Found>& finals) const {
    if (!options_.judge || finals.size() == 1) {
      return;
    }
    const Seconds most{finals.front().times.total.value * kHopeless};
    std::vector<const program::Program*> programs;
    for (const Found& found : finals) {
      if (found.times.total <= most) {
        programs.push_back(&found.program);
      }
    }
    const std::vector<Seconds> times = options_.judge(programs);
    for (std::size_t i = 0; i < times.size(); ++i) {
      finals[i].judged = times[i];
    }
  }

  static bool is_shorter(const Found& a, const Found& b) { return a.times.total < b.times.total; }

  /// By the judge; those that it was not asked about come last.
  static bool takes_less(const Found& a, const Found& b) {
    return a.judged && (!b.judged || *a.judged < *b.judged);
  }

  [[noreturn]] void refuse() const {
    if (!shortage_) {
      throw Infeasible(text("no schedule could be placed in ", room_.value,
                            " bytes of SRAM a core: buffers fit in sum but not in addresses; "
                            "give the chip more core.sram_bytes"),
                       "placement");
    }
    const ir::Op& op = problem_.graph().ops[static_cast<std::size_t>(shortage_->op)];
    throw Infeasible(
        text("op '", op.name, "' (", op.onnx_type, ") does not fit: its smallest workable plan ",
             "beside the tensors that must stay on chip needs ", (room_ + shortage_->excess).value,
             " bytes of SRAM a core, ", room_.value,
             " are usable (core.sram_bytes - core.reserved_bytes): ", shortage_->excess.value,
             " bytes too many; a smaller batch or sequence, more cores, or core.sram_bytes larger "
             "by that much would make it fit"),
        "sram_overflow");
  }

  Problem& problem_;
  const SearchOptions& options_;
  Bytes room_;
  Seconds promised_ = kEndless;  // before links were counted, where they had to be
  Contention contention_;
  std::vector<Contender> candidates_;
  std::optional<Shortage> shortage_;
  std::int32_t solved_layers_ = 0;
  OrderSearch orders_;
};

}  // namespace

/// On a grid too large to count all that is looked at, a search does not know what it should have
/// avoided before it has chosen it: the next one does.
Found search(Problem& problem, const SearchOptions& options) {
  Searcher first(problem, options);
  Found best = first.run();
  bool misled = first.misled(best);
  for (int more = kSearchesAgain[static_cast<std::size_t>(options.effort)];
       more > 0 && misled && !Watch::stops(options.watch); --more) {
    try {
      Searcher again(problem, options);
      Found found = again.run();
      misled = again.misled(best);
      const Seconds raw = std::min(best.raw, found.raw);
      if (found.times.total < best.times.total) {
        best = std::move(found);
      }
      best.raw = raw;
    } catch (const Infeasible&) {
      break;  // At the new prices, none of the first choices has addresses.
    }
  }
  return best;
}

}  // namespace elk::schedule
