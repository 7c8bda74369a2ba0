#include "elk/schedule/improve/reconcile.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "elk/schedule/problem/schedule_tuning.hpp"
#include "elk/schedule/timing/evaluate.hpp"
#include "elk/schedule/timing/idle.hpp"

namespace elk::schedule {
namespace {

constexpr double kUnfit = std::numeric_limits<double>::infinity();
constexpr int kMostPasses = 4;  // until no op moves because another did

/// An op with the idle memory that it may have, the choice it takes, and the one with more idle
/// memory that saves most seconds for each byte of it.
struct Claim {
  const std::vector<IdleChoice>* all = nullptr;
  Bytes budget{0};
  const IdleChoice* now = nullptr;   // null: none fits
  const IdleChoice* next = nullptr;  // null: none is worth more idle memory
  double worth = 0.0;                // of `next`: seconds for each byte
};

class Reconciler {
 public:
  Reconciler(const Problem& problem, const Contention& contention, const ReconcileLimits& limits)
      : problem_(problem),
        room_(limits.room),
        active_(limits.active),
        idle_(problem),
        claims_(problem.front_of().size()),
        choices_(problem.front_of().size(), Choice{.option = 0, .state = 0}) {
    fronts_.reserve(problem.fronts().size());
    for (const cost::Front& front : problem.fronts()) {
      fronts_.push_back(idle_choices(front, contention, limits.gathers));
    }
    for (const OpId op : claims_.ids()) {
      Claim& claim = claims_[op];
      claim.all = &fronts_[subscript(problem.front_of()[op])];
      claim.budget = claim.all->front().idle;
      choices_[op] = claim.all->front().choice;
      idle_.add(op, choices_[op]);
    }
    live_ = live_bytes(problem, choices_);
    result_.best = choices_;
  }

  Reconciliation run(Explore what) {
    settle();
    note();
    while (idle_.total() < room_ && (what == Explore::All || result_.explored.empty())) {
      const auto best =
          std::max_element(claims_.begin(), claims_.end(),
                           [](const Claim& a, const Claim& b) { return a.worth < b.worth; });
      if (best == claims_.end() || best->next == nullptr) {
        break;
      }
      best->budget = best->next->idle;
      best->now = nullptr;
      settle();
      note();
    }
    return std::move(result_);
  }

 private:
  /// Whether a choice of an op fits beside what lives and the idle memory of all others.
  [[nodiscard]] bool fits(OpId op, const IdleChoice& one) const {
    const cost::PlanOption& option = problem_.option(op, choices_[op]);
    const Bytes beside = live_[op] - option.footprint.rest;
    const Bytes others = idle_.total() - problem_.state(op, choices_[op]).space;
    return beside + one.active <= active_ && others + one.idle + beside + one.active <= room_;
  }

  /// Has every op take the fastest choice within its budget that fits, and look for the next.
  void settle() {
    for (int pass = 0; pass < kMostPasses && settle_once(); ++pass) {
    }
  }

  /// Whether the choice of any op changed.
  bool settle_once() {
    bool changed = false;
    bool moved = false;
    for (const OpId op : claims_.ids()) {
      const Claim& claim = claims_[op];
      const bool stays = claim.now != nullptr && fits(op, *claim.now);
      if (!stays) {
        const Choice before = choices_[op];
        take(op);
        changed = changed || choices_[op] != before;
        moved = moved || choices_[op].option != before.option;
      }
      if (!stays || (claim.next != nullptr && !fits(op, *claim.next))) {
        look(op);
      }
    }
    if (moved) {
      live_ = live_bytes(problem_, choices_);
    }
    return changed;
  }

  void take(OpId op) {
    Claim& claim = claims_[op];
    claim.now = nullptr;
    for (const IdleChoice& one : *claim.all) {
      const bool better = claim.now == nullptr || one.seconds < claim.now->seconds;
      if (one.idle <= claim.budget && better && fits(op, one)) {
        claim.now = &one;
      }
    }
    if (claim.now != nullptr) {
      idle_.take(op, choices_[op]);
      choices_[op] = claim.now->choice;
      idle_.add(op, choices_[op]);
    }
  }

  void look(OpId op) {
    Claim& claim = claims_[op];
    claim.next = nullptr;
    claim.worth = 0.0;
    for (const IdleChoice& one : *claim.all) {
      if (one.idle <= claim.budget || !fits(op, one)) {
        continue;
      }
      const double saved = claim.now != nullptr ? claim.now->seconds - one.seconds : kUnfit;
      const double worth = saved / static_cast<double>((one.idle - claim.budget).value);
      if (worth > claim.worth) {
        claim.next = &one;
        claim.worth = worth;
      }
    }
  }

  /// Keeps what was explored if it fits.
  void note() {
    IdlePoint point{.idle = idle_.total(), .peak = {0}, .seconds = 0.0};
    for (const OpId op : claims_.ids()) {
      const IdleChoice* now = claims_[op].now;
      if (now == nullptr) {
        return;
      }
      const Bytes own = problem_.option(op, choices_[op]).footprint.rest;
      point.peak = std::max(point.peak, point.idle + (live_[op] - own) + now->active);
      point.seconds += now->seconds;
    }
    if (point.peak > room_) {
      return;
    }
    result_.explored.push_back(point);
    if (point.seconds < result_.seconds) {
      result_.best = choices_;
      result_.seconds = point.seconds;
    }
  }

  const Problem& problem_;
  Bytes room_;
  Bytes active_;
  IdleBytes idle_;
  std::vector<std::vector<IdleChoice>> fronts_;
  Table<OpId, Claim> claims_;
  Table<OpId, Choice> choices_;
  Table<OpId, Bytes> live_;
  Reconciliation result_;
};

}  // namespace

Reconciliation reconcile(const Problem& problem, const Contention& contention,
                         const ReconcileLimits& limits) {
  return Reconciler(problem, contention, limits).run(limits.what);
}

std::vector<Proposal> reconciled(const Problem& problem, const Contention& contention,
                                 const ReconcileLimits& limits) {
  std::vector<Proposal> result;
  for (const std::int64_t unused : tuning::kUnusedParts) {
    const Bytes left = limits.room - Bytes{limits.room.value / tuning::kPartsOfRoom * unused};
    Reconciliation found = reconcile(problem, contention,
                                     {.room = left,
                                      .active = std::min(left, limits.active),
                                      .what = limits.what,
                                      .gathers = limits.gathers});
    result.push_back({.choices = std::move(found.best),
                      .space = {.room = left, .preload_room = left, .not_before = {}}});
  }
  return result;
}

}  // namespace elk::schedule
