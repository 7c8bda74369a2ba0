#include "elk/schedule/improve/anneal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "elk/base/random.hpp"
#include "elk/base/watch.hpp"
#include "elk/schedule/improve/alternatives.hpp"

namespace elk::schedule {
namespace {

constexpr double kFarAbove = 8.0;      // times what a move may cost now: not worth a forecast
constexpr double kPlans = 0.62;        // of all moves, those that change a plan
constexpr double kStates = 0.14;       // a preload state
constexpr double kOrders = 0.12;       // the order; the rest how far ahead
constexpr double kLeastChance = 1e-6;  // of a move to be taken
constexpr std::int64_t kFurthest = 3;  // places of the order that a preload goes at once
constexpr std::int64_t kFeeds = 2;     // moves of what a product reads, of which one is cut for it
constexpr std::int64_t kPriced = 200;  // ops of a forecast, about, that a price takes

/// What a move changed, to be taken back.
struct Undo {
  std::vector<std::pair<std::int32_t, Choice>> choices;  // places, latest last
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
        random_{.state = options.seed} {
    likely_.resize(problem.fronts().size());
    for (std::size_t front = 0; front < likely_.size(); ++front) {
      likely_[front] = likely_choices(problem.fronts()[front], contention);
      if (front < options.suggested.size()) {
        const std::vector<Choice>& suggested = options.suggested[front];
        likely_[front].insert(likely_[front].end(), suggested.begin(), suggested.end());
      }
    }
    double sum = 0.0;
    for (const std::int32_t place : sketch.places().all()) {
      sum += sketch.execute_seconds(place) + sketch.preload_seconds(place);
      weights_.push_back(sum);
    }
  }

  AnnealingResult run() {
    const std::int64_t most = options_.most;
    now_ = sketch_.seconds(arrangement_);
    keep();
    const double hot = options_.hot * now_ / static_cast<double>(sketch_.places().all().size());
    while (work_ < most && !Watch::stops(options_.watch)) {
      Watch::check();
      const std::int64_t before = work_;
      const double left = 1.0 - (static_cast<double>(work_) / static_cast<double>(most));
      heat_ = hot * left * left;
      step();
      Watch::advance(options_.watch, work_ - before);
    }
    for (const std::int32_t place : sketch_.places().all()) {
      const Choice& best = best_[static_cast<std::size_t>(place)];
      if (best != choice(place)) {
        sketch_.set(place, best);
      }
    }
    return {.arrangement = best_arrangement_, .seconds = least_};
  }

 private:
  [[nodiscard]] const Choice& choice(std::int32_t place) const {
    return sketch_.choices()[static_cast<std::size_t>(place)];
  }

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
    const double most = now_ - (heat_ * std::log(std::max(random_.uniform(), kLeastChance)));
    const double after = sketch_.seconds(arrangement_, forecaster_, most);
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
    if (kind < kPlans) {
      return change_plan(undo);
    }
    if (kind < kPlans + kStates) {
      return change_state(undo);
    }
    if (arrangement_.sequence.empty()) {
      return false;
    }
    undo.arrangement = arrangement_;
    return kind < kPlans + kStates + kOrders ? change_order() : change_ahead();
  }

  void take_back(const Undo& undo) {
    for (std::size_t i = undo.choices.size(); i-- > 0;) {
      sketch_.set(undo.choices[i].first, undo.choices[i].second);
    }
    if (undo.arrangement) {
      arrangement_ = *undo.arrangement;
    }
  }

  void set(std::int32_t place, const Choice& after, Undo& undo) {
    undo.choices.emplace_back(place, choice(place));
    sketch_.set(place, after);
  }

  /// A place: every second time one by its share of all time.
  std::int32_t draw_place() {
    const std::vector<std::int32_t>& all = sketch_.places().all();
    if (random_.below(2) == 0) {
      return all[static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(all.size())))];
    }
    const double mark = random_.uniform() * weights_.back();
    const auto at = std::upper_bound(weights_.begin(), weights_.end(), mark) - weights_.begin();
    return all[std::min(static_cast<std::size_t>(at), all.size() - 1)];
  }

  bool change_plan(Undo& undo) {
    const std::int32_t place = draw_place();
    const std::optional<Choice> next = draw_plan(place);
    if (!next || *next == choice(place)) {
      return false;
    }
    const std::vector<std::int32_t> changed = draw_alike(place);
    double lost = 0.0;
    for (const std::int32_t each : changed) {
      lost += loss(each, *next);
    }
    if (lost > kFarAbove * heat_) {
      return false;
    }
    for (const std::int32_t each : changed) {
      if (*next != choice(each)) {
        set(each, *next, undo);
      }
    }
    if (random_.below(2) == 0) {
      led_.clear();
      for (const std::int32_t each : changed) {
        lead(each, undo);
      }
    }
    return true;
  }

  /// The place alone or, every second time, all places alike.
  std::vector<std::int32_t> draw_alike(std::int32_t place) {
    const std::vector<std::int32_t>& all = alike_.groups[group(place)];
    return all.size() > 1 && random_.below(2) == 0 ? all : std::vector{place};
  }

  [[nodiscard]] std::size_t group(std::int32_t place) const {
    return static_cast<std::size_t>(alike_.of[static_cast<std::size_t>(place)]);
  }

  std::optional<Choice> draw_plan(std::int32_t place) {
    const auto front =
        static_cast<std::size_t>(problem_.front_of()[static_cast<std::size_t>(place)]);
    const std::vector<Choice>& likely = likely_[front];
    if (const std::optional<std::int32_t> reader = draw_product(place)) {
      return fed_to(place, *reader);
    }
    if (!problem_.is_loaded(place) && random_.below(3) == 0) {
      if (const std::optional<std::int32_t> maker = draw_maker(place)) {
        return following(problem_, place, *maker, sketch_.choices());
      }
    }
    return likely[static_cast<std::size_t>(
        random_.below(static_cast<std::int64_t>(likely.size())))];
  }

  /// Every second time a product that reads what another op makes, if there is one: many of its
  /// cores need the same, in runs as long as the maker's cut leaves them.
  std::optional<std::int32_t> draw_product(std::int32_t place) {
    const std::vector<std::int32_t>& readers = problem_.readers(place);
    const std::vector<ir::Op>& ops = problem_.graph().ops;
    if (readers.empty() || chip::routed(problem_.chip()) ||
        ops[static_cast<std::size_t>(place)].kind == ir::OpKind::MatMul) {
      return std::nullopt;
    }
    const std::int32_t reader =
        readers[static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(readers.size())))];
    const bool product = ops[static_cast<std::size_t>(reader)].kind == ir::OpKind::MatMul;
    return product && random_.below(kFeeds) == 0 ? std::optional(reader) : std::nullopt;
  }

  /// The choice with which the op at `place` leaves its result as `reader` needs it.
  std::optional<Choice> fed_to(std::int32_t place, std::int32_t reader) {
    const std::int32_t at = sketch_.places().of(reader);
    const std::tuple key{group(place), group(at), choice(at).option};
    const auto [known, added] = fed_.try_emplace(key);
    if (added) {
      known->second = feeding(problem_, place, reader, choice(at));
      work_ += known->second ? kPriced : 0;
    }
    return known->second;
  }

  /// An op that makes something the op at `place` reads.
  std::optional<std::int32_t> draw_maker(std::int32_t place) {
    const ir::Op& op = problem_.graph().ops[static_cast<std::size_t>(place)];
    const auto from =
        static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(op.operands.size())));
    for (std::size_t k = 0; k < op.operands.size(); ++k) {
      const ir::Operand& operand = op.operands[(from + k) % op.operands.size()];
      const std::int32_t maker =
          problem_.lives().producer[static_cast<std::size_t>(operand.tensor)];
      if (operand.access == ir::Access::Read && maker >= 0) {
        return maker;
      }
    }
    return std::nullopt;
  }

  /// Whether a plan alone costs so much more that what surrounds it could not make up for it.
  [[nodiscard]] bool hopeless(std::int32_t place, const Choice& next) const {
    return loss(place, next) > kFarAbove * heat_;
  }

  /// Seconds that a plan alone costs more than the one in force with what it gathers.
  [[nodiscard]] double loss(std::int32_t place, const Choice& next) const {
    const double count =
        sketch_.places().repeats(place) ? static_cast<double>(sketch_.places().count()) : 1.0;
    const double more = alone(place, next) - alone(place, choice(place));
    const double gathered = sketch_.execute_seconds(place) - (count * alone(place, choice(place)));
    return (count * more) - gathered;
  }

  /// Seconds of an execute that finds everything in place.
  [[nodiscard]] double alone(std::int32_t place, const Choice& it) const {
    const cost::PlanOption& option = problem_.option(place, it);
    return (option.compute + option.shift.time + option.reduce.time).value;
  }

  /// Has readers without HBM data work on results as they lie, and theirs in turn.
  void lead(std::int32_t place, Undo& undo) {
    for (const std::int32_t reader : problem_.readers(place)) {
      const std::int32_t at = sketch_.places().of(reader);
      if (problem_.is_loaded(reader) || at == place) {
        continue;
      }
      const std::optional<Choice> next = follow_as(reader, place);
      if (next && *next != choice(at) && !hopeless(at, *next)) {
        set(at, *next, undo);
        if (at == reader && random_.below(2) == 0) {
          lead(at, undo);
        }
      }
    }
  }

  /// The choice that follows; where the same was asked in this move of ops alike, as then.
  std::optional<Choice> follow_as(std::int32_t reader, std::int32_t place) {
    const std::pair key{group(sketch_.places().of(reader)), group(place)};
    const auto [known, added] = led_.try_emplace(key);
    if (added) {
      known->second = following(problem_, reader, place, sketch_.choices());
      work_ += known->second ? kPriced : 0;
    }
    return known->second;
  }

  bool change_state(Undo& undo) {
    const std::int32_t place = draw_place();
    const std::size_t states = problem_.option(place, choice(place)).states.size();
    if (states < 2) {
      return false;
    }
    const auto next = static_cast<std::int32_t>(random_.below(static_cast<std::int64_t>(states)));
    if (next == choice(place).state) {
      return false;
    }
    const Choice after{.option = choice(place).option, .state = next};
    for (const std::int32_t each : draw_alike(place)) {
      if (choice(each).option == after.option && choice(each) != after) {
        set(each, after, undo);
      }
    }
    return true;
  }

  bool change_order() {
    std::vector<std::int32_t>& sequence = arrangement_.sequence;
    const auto size = static_cast<std::int64_t>(sequence.size());
    const std::int64_t from = random_.below(size);
    const std::int64_t to = std::clamp<std::int64_t>(
        from + random_.below((2 * kFurthest) + 1) - kFurthest, 0, size - 1);
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
  std::vector<double> weights_;              // of all places up to each
  std::map<std::pair<std::size_t, std::size_t>, std::optional<Choice>> led_;  // by groups
  /// By the groups of an op and its reader, and the reader's option.
  std::map<std::tuple<std::size_t, std::size_t, std::int32_t>, std::optional<Choice>> fed_;
  cost::Forecaster forecaster_;
  double now_ = 0.0;
  double heat_ = 0.0;
  double least_ = 0.0;
  std::vector<Choice> best_;
  Arrangement best_arrangement_;
  std::int64_t work_ = 0;
};

}  // namespace

AnnealingResult anneal(Problem& problem, Sketch& sketch, Arrangement arrangement,
                       const Contention& contention, const AnnealingOptions& options) {
  return Annealer(problem, sketch, std::move(arrangement), contention, options).run();
}

}  // namespace elk::schedule
