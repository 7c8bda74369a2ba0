#include "elk/schedule/improve/polish.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/schedule/improve/alternatives.hpp"
#include "elk/schedule/problem/schedule_tuning.hpp"
#include "elk/schedule/timing/draft.hpp"
#include "elk/schedule/timing/evaluate.hpp"
#include "elk/schedule/timing/ideal_times.hpp"

namespace elk::schedule {
namespace {

constexpr double kGain = 1.0 - 1e-9;  // a change must beat rounding
constexpr double kNever = std::numeric_limits<double>::infinity();

class Polish {
 public:
  Polish(Problem& problem, Proposal& proposal, const Contention& contention,
         const PolishingOptions& options)
      : problem_(problem),
        proposal_(proposal),
        threads_(options.threads),
        goal_(options.goal),
        rules_(options.rules),
        draft_(problem, proposal.choices, options.rules) {
    alike_.resize(problem.fronts().size());
    for (const OpId op : first_ids<OpId>(problem.op_count())) {
      alike_[static_cast<std::size_t>(problem.front_of()[op])].push_back(op);
    }
    for (const cost::Front& front : problem.fronts()) {
      likely_.push_back(likely_choices(problem, front, contention));
      double least = kNever;
      for (const cost::PlanOption& option : front.options) {
        least = std::min(least, alone(option));
      }
      least_alone_.push_back(least);
    }
    for (std::size_t front = 0; goal_ != nullptr && front < likely_.size(); ++front) {
      const std::vector<Choice>& more = goal_->choices[front];
      likely_[front].insert(likely_[front].end(), more.begin(), more.end());
    }
  }

  /// Tells the work done.
  std::int64_t run(std::int64_t most) {
    least_ = total();
    const std::vector<std::vector<OpId>> groups = alike();
    std::size_t idle = 0;  // groups since the last change
    for (std::size_t at = 0; idle < groups.size() && work_ < most; at = (at + 1) % groups.size()) {
      idle = improve(groups[at]) ? 0 : idle + 1;
    }
    proposal_.choices = draft_.choices();
    return work_;
  }

 private:
  /// Ops that change together: those at the same place of a layer with the same choice.
  [[nodiscard]] std::vector<std::vector<OpId>> alike() const {
    std::map<std::tuple<OpId, std::int32_t, std::int32_t>, std::vector<OpId>> found;
    for (const OpId op : first_ids<OpId>(problem_.op_count())) {
      const Choice& choice = draft_.choices()[op];
      const OpId place = ir::first_like(problem_.graph(), op);
      found[{place, choice.option, choice.state}].push_back(op);
    }
    std::vector<std::vector<OpId>> groups;
    groups.reserve(found.size());
    for (auto& [key, ops] : found) {
      groups.push_back(std::move(ops));
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [&](const auto& a, const auto& b) { return weight(a) > weight(b); });
    return groups;
  }

  [[nodiscard]] double weight(const std::vector<OpId>& ops) const {
    const auto first = ops.front();
    return static_cast<double>(ops.size()) * (draft_.situation().works[first].alone().value +
                                              draft_.situation().loads[first].time.value);
  }

  /// Tries all that the ops could change to; whether a change was an improvement.
  bool improve(const std::vector<OpId>& ops) {
    const std::vector<Variant> all = variants(ops);
    foresee(all, true);
    const Variant* best = nullptr;
    for (const Variant& variant : all) {
      const Variant undo = apply(variant);
      const double seconds = total();
      if (seconds < least_ * kGain) {
        least_ = seconds;
        best = &variant;
      }
      apply(undo);
    }
    if (best != nullptr) {
      apply(*best);
    }
    return best != nullptr;
  }

  void foresee(const std::vector<Variant>& variants, bool with_readers) {
    work_ -= problem_.counting_work();
    const std::size_t priced = problem_.foresee(variants, draft_.choices(), with_readers, threads_);
    work_ += static_cast<std::int64_t>(priced) * chip::total_cores(problem_.chip()) /
             tuning::kPricedCores;
    work_ += problem_.counting_work();
  }

  /// Makes the changes, and tells those that take them back.
  Variant apply(const Variant& variant) {
    Variant undo;
    for (const Change& change : variant) {
      undo.push_back({.op = change.op, .after = draft_.choices()[change.op]});
      draft_.set(change.op, change.after);
    }
    std::reverse(undo.begin(), undo.end());
    return undo;
  }

  /// The ops with another choice, by themselves and with readers that follow.
  std::vector<Variant> variants(const std::vector<OpId>& ops) {
    std::vector<Variant> result;
    Table<OpId, Choice> choices = draft_.choices();
    for (const Choice& choice : promising(ops)) {
      Variant variant;
      variant.reserve(ops.size());
      for (const OpId op : ops) {
        variant.push_back({.op = op, .after = choice});
        choices[op] = choice;
      }
      result.push_back(variant);
      for (std::size_t i = 0; i < variant.size(); ++i) {
        lead(variant[i].op, choices, variant);
      }
      for (const Change& change : variant) {
        choices[change.op] = draft_.choices()[change.op];
      }
      if (variant.size() > ops.size()) {
        result.push_back(std::move(variant));
      }
    }
    return result;
  }

  /// Seconds of an execute that finds everything in place.
  static double alone(const cost::PlanOption& option) {
    return (option.compute + option.shift.time + option.reduce.time).value;
  }

  /// Seconds of all executes but those of `ops`, at the least to which a change of these could
  /// bring their readers: no schedule takes less than its executes.
  [[nodiscard]] double least_of_others(const std::vector<OpId>& ops) const {
    const Table<OpId, cost::ExecuteCost>& works = draft_.situation().works;
    double sum = 0.0;
    for (const cost::ExecuteCost& work : works) {
      sum += work.alone().value;
    }
    for (const OpId op : ops) {
      sum -= works[op].alone().value;
      for (const OpId reader : problem_.readers(op)) {
        const auto front = static_cast<std::size_t>(problem_.front_of()[reader]);
        sum -= std::max(0.0, works[reader].alone().value - least_alone_[front]);
      }
    }
    return sum;
  }

  /// Has the readers of the op without HBM data work on its result as it lies.
  void lead(OpId op, Table<OpId, Choice>& choices, Variant& variant) {
    for (const OpId reader : problem_.readers(op)) {
      const std::optional<Choice> choice =
          problem_.waits(reader) ? std::nullopt : following(problem_, reader, op, choices);
      if (choice && *choice != choices[reader] &&
          (rules_ == TimingRules::Chip || fits_ideally(problem_, reader, *choice))) {
        choices[reader] = *choice;
        variant.push_back({.op = reader, .after = *choice});
      }
    }
  }

  /// What the ops could change to, without what cannot help whatever it finds in place.
  [[nodiscard]] std::vector<Choice> alternatives(const std::vector<OpId>& ops,
                                                 double others) const {
    const OpId op = ops.front();
    const Choice now = draft_.choices()[op];
    const auto front = static_cast<std::size_t>(problem_.front_of()[op]);
    std::vector<Choice> result = likely_[front];
    for (const OpId like : alike_[front]) {
      result.push_back(draft_.choices()[like]);
    }
    const auto states = static_cast<std::int32_t>(problem_.option(op, now).states.size());
    for (std::int32_t state = 0; state < states; ++state) {
      result.push_back({.option = now.option, .state = state});
    }
    keep_to_rules(op, result);
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    std::erase_if(result, [&](const Choice& choice) {
      const double seconds = alone(problem_.option(op, choice));
      return takes_longer(others + (static_cast<double>(ops.size()) * seconds));
    });
    return result;
  }

  /// Under the ideal's rules, has preloads stay in their smallest state, adds the plan that is
  /// fastest alone, and drops what does not fit.
  void keep_to_rules(OpId op, std::vector<Choice>& choices) const {
    if (rules_ == TimingRules::Chip) {
      return;
    }
    choices.push_back({.option = problem_.front(op).fastest, .state = 0});
    for (Choice& choice : choices) {
      choice = least_preloaded(problem_, op, choice);
    }
    std::erase_if(choices,
                  [&](const Choice& choice) { return !fits_ideally(problem_, op, choice); });
  }

  /// Whether no change helps that takes at least so long.
  [[nodiscard]] bool takes_longer(double seconds) const {
    return goal_ == nullptr && seconds >= least_;
  }

  /// Choices that may be worth a forecast, with what the search does find.
  std::vector<Choice> promising(const std::vector<OpId>& ops) {
    const OpId op = ops.front();
    const double others = least_of_others(ops);
    std::vector<Choice> result = alternatives(ops, others);
    std::vector<Variant> single;
    single.reserve(result.size());
    for (const Choice& choice : result) {
      single.push_back({{.op = op, .after = choice}});
    }
    foresee(single, false);
    Table<OpId, Choice> choices = draft_.choices();
    std::erase_if(result, [&](const Choice& choice) {
      choices[op] = choice;
      const cost::ExecuteCost work =
          part(problem_, op, choice, problem_.in_place(op, choices), rules_).work;
      return takes_longer(others + (static_cast<double>(ops.size()) * work.alone().value));
    });
    return result;
  }

  double total() {
    work_ += problem_.op_count();
    if (rules_ == TimingRules::Ideal) {
      return ideal_times(problem_, draft_.situation()).total.value;
    }
    const Issue issue =
        schedule::issue(problem_, draft_.situation(), problem_.loaded(), proposal_.space);
    if (issue.shortage) {
      return kNever;
    }
    const Seconds time =
        timing(problem_, draft_.situation(), problem_.loaded(), issue.issued_before).total;
    return goal_ == nullptr ? time.value : goal_->worth(time, draft_.choices());
  }

  Problem& problem_;
  Proposal& proposal_;
  int threads_;
  const Goal* goal_;
  TimingRules rules_;
  Draft draft_;
  std::vector<std::vector<Choice>> likely_;  // of each front
  std::vector<std::vector<OpId>> alike_;     // ops of each front
  std::vector<double> least_alone_;          // of each front
  double least_ = kNever;
  std::int64_t work_ = 0;
};

}  // namespace

std::int64_t polish(Problem& problem, Proposal& proposal, const Contention& contention,
                    const PolishingOptions& options) {
  return Polish(problem, proposal, contention, options).run(options.most);
}

}  // namespace elk::schedule
