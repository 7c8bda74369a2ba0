#include "elk/schedule/search.hpp"

#include <algorithm>
#include <array>
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
#include "elk/schedule/induction.hpp"
#include "elk/schedule/polish.hpp"
#include "elk/schedule/resident.hpp"

namespace elk::schedule {
namespace {

constexpr std::size_t kSplitsKept = 3;  // of Static's splits, forecast again between neighbours
constexpr std::size_t kPolished = 4;    // proposals, as long as there is
constexpr std::int64_t kPolish = 3'000'000;  // work left
/// Parts of the room, in 64ths, that are left unused one after another until everything fits.
constexpr std::array<std::int64_t, 8> kUnused = {0, 1, 2, 4, 7, 11, 16, 24};
constexpr std::int64_t kParts = 64;

/// A proposal with its forecast, before placement.
struct Candidate {
  Policy policy;
  Proposal proposal;
  Situation situation;
  Issue issue;
  cost::TimelineResult times;
};

/// A candidate with the look-ahead under which it is to be placed.
struct Trial {
  std::vector<std::int32_t> issued_before;
  cost::TimelineResult times;
};

constexpr double kNever = std::numeric_limits<double>::infinity();

/// What became of a candidate: placed, beaten at `total`, or never to be placed.
struct Attempt {
  std::optional<Found> found;
  Seconds total;
};

class Searcher {
 public:
  Searcher(Problem& problem, int threads)
      : problem_(problem),
        threads_(threads),
        room_(chip::room(problem.chip())),
        contention_(contention(problem)) {}

  /// Where executes bind, a slower preload costs nothing; where preloads do, all it takes. Neither
  /// is known before there is a schedule, nor is the share of the port that preloads will take: the
  /// forecast decides between the extremes. Each policy proposes after those below it, so that it
  /// meets the proposals that they make by themselves.
  Found run(Policy policy) {
    for_each_lateness([&] { propose_basic(); });
    if (policy != Policy::Basic && problem_.chip().hbm) {
      for_each_lateness([&] { propose_static(); });
    }
    if ((policy == Policy::ElkDyn || policy == Policy::ElkFull) && problem_.chip().hbm) {
      for_each_lateness([&] {
        const double computed = contention_.share;
        for (const double share : {computed, 0.0, 0.5}) {
          contention_.share = share;
          propose_dynamic();
        }
      });
      propose_polished();
    }
    return best_placed(policy);
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

  void propose_basic() {
    if (problem_.chip().hbm) {
      consider(Policy::Basic, basic(problem_, contention_, room_));
    } else {
      consider(Policy::Basic, {.choices = reside(problem_, contention_, room_),
                               .space = {.room = room_, .preload_room = room_, .not_before = {}}});
    }
  }

  void propose_static() {
    for (Proposal& proposal : fixed_splits(problem_, contention_, room_, kSplitsKept, threads_)) {
      consider(Policy::Static, std::move(proposal));
    }
  }

  /// Induction under all of the room, and under less where the true neighbours need more.
  void propose_dynamic() {
    for (const std::int64_t unused : kUnused) {
      Induced induced =
          induce(problem_, contention_, {room_.value - (room_.value / kParts * unused)});
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
    std::vector<Proposal> best;
    for (std::size_t i = 0; i < std::min(kPolished, candidates_.size()); ++i) {
      best.push_back(candidates_[i].proposal);
    }
    std::int64_t left = kPolish;
    for (std::size_t i = 0; i < best.size() && left > 0; ++i) {
      left -= polish(problem_, best[i], contention_, left, threads_);
      keep(Policy::ElkDyn, std::move(best[i]));
    }
  }

  void sort_candidates() {
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) {
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
    Candidate candidate{.policy = policy,
                        .proposal = std::move(proposal),
                        .situation = {},
                        .issue = {},
                        .times = {}};
    candidate.situation = situation(problem_, candidate.proposal.choices);
    candidate.issue =
        issue_early(problem_, candidate.situation, problem_.loaded(), candidate.proposal.space);
    if (candidate.issue.shortage) {
      if (!shortage_ || candidate.issue.shortage->excess < shortage_->excess) {
        shortage_ = candidate.issue.shortage;
      }
      return false;
    }
    const bool known =
        std::any_of(candidates_.begin(), candidates_.end(), [&](const Candidate& other) {
          return other.policy == policy && other.proposal.choices == candidate.proposal.choices &&
                 other.issue.issued_before == candidate.issue.issued_before;
        });
    if (known) {
      return true;
    }
    candidate.times =
        timing(problem_, candidate.situation, problem_.loaded(), candidate.issue.issued_before);
    candidates_.push_back(std::move(candidate));
    return true;
  }

  /// Candidates are placed from the best forecast on, until none left could be better than the best
  /// placed one.
  Found best_placed(Policy policy) {
    sort_candidates();
    std::optional<Found> best;
    Seconds raw{kNever};
    for (const Candidate& candidate : candidates_) {
      const bool beaten = best && best->times.total <= candidate.times.total;
      Attempt attempt =
          beaten ? Attempt{.found = {}, .total = candidate.times.total} : place(candidate, best);
      if (is_own(candidate, policy)) {
        raw = std::min(raw, attempt.total);
      }
      if (beaten && raw.value < kNever) {
        break;
      }
      if (attempt.found) {
        best = std::move(attempt.found);
      }
    }
    if (!best) {
      refuse();
    }
    best->raw = raw.value < kNever ? raw : best->times.total;
    best->solved_layers = solved_layers_;
    return std::move(*best);
  }

  /// Whether the candidate is what `policy` by itself would take: by its forecast, if a better one
  /// is placed before it is tried.
  [[nodiscard]] bool is_own(const Candidate& candidate, Policy policy) const {
    const Policy own = policy == Policy::ElkFull ? Policy::ElkDyn : policy;
    return candidate.policy == own || !problem_.chip().hbm;
  }

  /// The candidate as a placed program, with less look-ahead each time that placement fails, as
  /// long as it is better than `best`. Two attempts run side by side where there are threads: the
  /// first that succeeds counts.
  Attempt place(const Candidate& candidate, const std::optional<Found>& best) {
    Seconds beaten{kNever};
    const std::vector<Trial> all = trials(candidate, best, beaten);
    const std::size_t width = threads_ == 1 ? 1 : 2;
    for (std::size_t at = 0; at < all.size(); at += width) {
      const std::span<const Trial> some(&all[at], std::min(width, all.size() - at));
      auto placed = parallel_map(
          some, [&](const Trial& trial) { return placed_program(candidate, trial); }, threads_);
      for (std::size_t i = 0; i < placed.size(); ++i) {
        if (placed[i]) {
          return {.found = found(candidate, some[i], std::move(*placed[i])),
                  .total = some[i].times.total};
        }
      }
    }
    return {.found = {}, .total = beaten};
  }

  /// With less and less look-ahead, as long as it changes anything and is better than `best`; where
  /// it no longer is, `beaten` tells its time.
  std::vector<Trial> trials(const Candidate& candidate, const std::optional<Found>& best,
                            Seconds& beaten) const {
    std::vector<Trial> result;
    for (const std::int64_t unused : kUnused) {
      Space space = candidate.proposal.space;
      space.room -= {room_.value / kParts * unused};
      const Issue issue = issue_early(problem_, candidate.situation, problem_.loaded(), space);
      if (issue.shortage) {
        break;
      }
      if (!result.empty() && issue.issued_before == result.back().issued_before) {
        continue;
      }
      result.push_back(
          {.issued_before = issue.issued_before,
           .times = timing(problem_, candidate.situation, problem_.loaded(), issue.issued_before)});
      if (best && result.back().times.total >= best->times.total) {
        beaten = result.back().times.total;
        result.pop_back();
        break;
      }
    }
    return result;
  }

  [[nodiscard]] std::optional<program::Program> placed_program(const Candidate& candidate,
                                                               const Trial& trial) const {
    program::Program result{
        .ops = {},
        .code = program::issue(problem_.graph(), problem_.loaded(), trial.issued_before),
        .buffers = {}};
    for (std::int32_t op = 0; op < problem_.op_count(); ++op) {
      const Choice& choice = candidate.proposal.choices[static_cast<std::size_t>(op)];
      result.ops.push_back({.execute = problem_.option(op, choice).plan,
                            .divisor = problem_.state(op, choice).divisor,
                            .tree = problem_.option(op, choice).tree,
                            .ring = problem_.option(op, choice).way == partition::Way::Ring});
    }
    result.buffers = program::buffers(problem_.graph(), problem_.chip(), result.ops, result.code);
    const std::vector<Bytes> occupancy = program::occupancy(result.buffers, result.code.size());
    if (*std::max_element(occupancy.begin(), occupancy.end()) > room_) {
      return std::nullopt;
    }
    auto placed = program::place(std::move(result.buffers), room_);
    if (!placed) {
      return std::nullopt;
    }
    result.buffers = std::move(*placed);
    return result;
  }

  Found found(const Candidate& candidate, const Trial& trial, program::Program program) {
    const std::vector<Choice>& choices = candidate.proposal.choices;
    Found found{.schedule = {.ops = choices,
                             .preload_order = problem_.loaded(),
                             .issued_before = trial.issued_before},
                .in_place = {},
                .program = std::move(program),
                .occupancy = {},
                .times = trial.times,
                .origin = candidate.policy,
                .raw = {0.0},
                .solved_layers = 0};
    found.occupancy = program::occupancy(found.program.buffers, found.program.code.size());
    for (std::int32_t op = 0; op < problem_.op_count(); ++op) {
      found.in_place.push_back(problem_.in_place(op, choices));
    }
    return found;
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
  int threads_;
  Bytes room_;
  Contention contention_;
  std::vector<Candidate> candidates_;
  std::optional<Shortage> shortage_;
  std::int32_t solved_layers_ = 0;
};

}  // namespace

const char* name(Policy policy) {
  switch (policy) {
    case Policy::Basic:
      return "basic";
    case Policy::Static:
      return "static";
    case Policy::ElkDyn:
      return "elk-dyn";
    case Policy::ElkFull:
      return "elk-full";
    case Policy::Ideal:
      return "ideal";
  }
  return "";
}

Found search(Problem& problem, Policy policy, int threads) {
  return Searcher(problem, threads).run(policy);
}

}  // namespace elk::schedule
