#include "elk/schedule/improve/anneal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/mechanisms.hpp"
#include "elk/base/random.hpp"
#include "elk/base/table.hpp"
#include "elk/base/watch.hpp"
#include "elk/schedule/improve/alternatives.hpp"
#include "elk/schedule/problem/schedule_tuning.hpp"

namespace elk::schedule {
namespace {

/// What a move changed, to be taken back.
struct Undo {
  std::vector<std::pair<OpId, Choice>> choices;  // of places, latest last
  std::optional<Arrangement> arrangement;
};

class Annealer {
 public:
  Annealer(Problem& problem, Sketch& sketch, Arrangement arrangement, const Contention& contention,
           const AnnealingOptions& options)
      : problem_(problem),
        sketch_(sketch),
        arrangement_(std::move(arrangement)),
        options_(options),
        alike_(alike(problem, sketch.places())),
        random_{.state = options.seed + (1000 * mechanisms().seed)} {
    likely_.resize(problem.fronts().size());
    for (std::size_t front = 0; front < likely_.size(); ++front) {
      likely_[front] = likely_choices(problem, problem.fronts()[front], contention);
    }
  }

  AnnealingResult run() {
    const std::int64_t most = options_.most;
    now_ = sketch_.seconds(arrangement_);
    keep();
    const double hot = tuning::kWarm * now_ / static_cast<double>(sketch_.places().all().size());
    while (work_ < most && !Watch::stops(options_.watch)) {
      Watch::check();
      const std::int64_t before = work_;
      const double left = 1.0 - (static_cast<double>(work_) / static_cast<double>(most));
      heat_ = hot * left * left;
      step();
      Watch::advance(options_.watch, work_ - before);
    }
    for (const OpId place : sketch_.places().all()) {
      const Choice& best = best_[place];
      if (best != choice(place)) {
        sketch_.set(place, best);
      }
    }
    return {.arrangement = best_arrangement_, .seconds = least_};
  }

 private:
  [[nodiscard]] const Choice& choice(OpId place) const { return sketch_.choices()[place]; }

  void keep() {
    least_ = now_;
    best_ = sketch_.choices();
    best_arrangement_ = arrangement_;
  }

  void step() {
    ++work_;
    Undo undo;
    const std::int64_t counting = problem_.counting_work();
    const bool moved = move(undo);
    work_ += problem_.counting_work() - counting;
    if (!moved) {
      take_back(undo);
      return;
    }
    const double most =
        now_ - (heat_ * std::log(std::max(random_.uniform(), tuning::kLeastChance)));
    const double after = sketch_.seconds(arrangement_, forecaster_);
    work_ += sketch_.work();
    if (after > most) {
      take_back(undo);
      return;
    }
    now_ = after;
    if (now_ < least_) {
      keep();
    }
  }

  /// Whether there is anything to forecast.
  bool move(Undo& undo) {
    const double kind = random_.uniform();
    if (kind < tuning::kPlanMoves) {
      return change_plan(undo);
    }
    if (arrangement_.sequence.empty()) {
      return false;
    }
    undo.arrangement = arrangement_;
    return kind < tuning::kPlanMoves + tuning::kOrderMoves || !mechanisms().look_ahead
               ? change_order()
               : change_ahead();
  }

  void take_back(const Undo& undo) {
    for (std::size_t i = undo.choices.size(); i-- > 0;) {
      sketch_.set(undo.choices[i].first, undo.choices[i].second);
    }
    if (undo.arrangement) {
      arrangement_ = *undo.arrangement;
    }
  }

  bool change_plan(Undo& undo) {
    const OpId place = draw(sketch_.places().all());
    const auto front = static_cast<std::size_t>(problem_.front_of()[place]);
    const Choice next = draw(likely_[front]);
    if (next == choice(place)) {
      return false;
    }
    const std::vector<OpId> changed = draw_alike(place);
    double lost = 0.0;
    for (const OpId each : changed) {
      lost += loss(each, next);
    }
    if (lost > tuning::kFarAbove * heat_) {
      return false;
    }
    for (const OpId each : changed) {
      set(each, next, undo);
    }
    if (random_.below(2) == 0 && mechanisms().lead) {
      for (const OpId each : changed) {
        lead(each, undo);
      }
    }
    return true;
  }

  void set(OpId place, const Choice& after, Undo& undo) {
    undo.choices.emplace_back(place, choice(place));
    sketch_.set(place, after);
  }

  /// Has readers without HBM data work on results as they lie, and theirs in turn.
  void lead(OpId place, Undo& undo) {
    for (const OpId reader : problem_.readers(place)) {
      const OpId at = sketch_.places().of(reader);
      if (problem_.waits(reader) || at == place) {
        continue;
      }
      const std::optional<Choice> next = following(problem_, reader, place, sketch_.choices());
      work_ += next ? tuning::kPricedOps : 0;
      if (next && *next != choice(at) && !hopeless(at, *next)) {
        set(at, *next, undo);
        if (at == reader && random_.below(2) == 0) {
          lead(at, undo);
        }
      }
    }
  }

  /// The place alone or, every second time, all places alike.
  std::vector<OpId> draw_alike(OpId place) {
    const std::vector<OpId>& all = alike_.groups[subscript(alike_.of[place])];
    return all.size() > 1 && random_.below(2) == 0 ? all : std::vector{place};
  }

  template <typename T>
  const T& draw(const std::vector<T>& some) {
    return some[static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(some.size())))];
  }

  /// Whether a plan alone costs so much more that what surrounds it could not make up for it.
  [[nodiscard]] bool hopeless(OpId place, const Choice& next) const {
    return loss(place, next) > tuning::kFarAbove * heat_;
  }

  /// Seconds that a plan alone costs more than the one in force with what it gathers.
  [[nodiscard]] double loss(OpId place, const Choice& next) const {
    const double count =
        sketch_.places().repeats(place) ? static_cast<double>(sketch_.places().count()) : 1.0;
    const double more = alone(place, next) - alone(place, choice(place));
    const double gathered = sketch_.execute_seconds(place) - (count * alone(place, choice(place)));
    return (count * more) - gathered;
  }

  /// Seconds of an execute that finds everything in place.
  [[nodiscard]] double alone(OpId place, const Choice& it) const {
    const cost::PlanOption& option = problem_.option(place, it);
    return (option.compute + option.shift.time + option.reduce.time).value;
  }

  bool change_order() {
    std::vector<std::int32_t>& sequence = arrangement_.sequence;
    const auto size = static_cast<std::int64_t>(sequence.size());
    const std::int64_t from = random_.below(size);
    const std::int64_t to = std::clamp<std::int64_t>(
        from + random_.below((2 * tuning::kFurthest) + 1) - tuning::kFurthest, 0, size - 1);
    const auto begin = sequence.begin();
    if (from < to) {
      std::rotate(begin + from, begin + from + 1, begin + to + 1);
    } else {
      std::rotate(begin + to, begin + from, begin + from + 1);
    }
    return from != to;
  }

  bool change_ahead() {
    const auto number = static_cast<std::size_t>(
        random_.below(static_cast<std::int64_t>(arrangement_.ahead.size())));
    std::int32_t& ahead = arrangement_.ahead[number];
    const std::int32_t before = ahead;
    ahead = random_.below(3) == 0
                ? 0
                : 1 + static_cast<std::int32_t>(random_.below(sketch_.places().period()));
    return ahead != before;
  }

  Problem& problem_;
  Sketch& sketch_;
  Arrangement arrangement_;
  const AnnealingOptions& options_;
  PlaceGroups alike_;
  Random random_;
  std::vector<std::vector<Choice>> likely_;  // of each front
  cost::Forecaster forecaster_;
  double now_ = 0.0;
  double heat_ = 0.0;
  double least_ = 0.0;
  Table<OpId, Choice> best_;
  Arrangement best_arrangement_;
  std::int64_t work_ = 0;
};

}  // namespace

AnnealingResult anneal(Problem& problem, Sketch& sketch, Arrangement arrangement,
                       const Contention& contention, const AnnealingOptions& options) {
  return Annealer(problem, sketch, std::move(arrangement), contention, options).run();
}

}  // namespace elk::schedule
