#include "elk/schedule/ideal.hpp"

#include <algorithm>
#include <cstddef>

#include "elk/schedule/evaluate.hpp"

namespace elk::schedule {
namespace {

/// The preload side: one after another from the start, as far ahead as its own SRAM holds.
class Preloads {
 public:
  Preloads(const Problem& problem, const std::vector<Choice>& choices, cost::TimelineResult& times)
      : problem_(problem), choices_(choices), times_(times), room_(chip::room(problem.chip())) {}

  /// Runs preloads until that of `op` is over.
  void upto(std::int32_t op) {
    while (next_ < problem_.loaded().size() && problem_.loaded()[next_] <= op) {
      run(problem_.loaded()[next_]);
      ++next_;
    }
  }

 private:
  void run(std::int32_t op) {
    const auto at = static_cast<std::size_t>(op);
    const cost::PreloadState& state = problem_.state(op, choices_[at]);
    double begin = end_;
    while (held_ + state.space > room_ && oldest_ < next_) {
      const auto done = static_cast<std::size_t>(problem_.loaded()[oldest_]);
      begin = std::max(begin, times_.executes[done].end.value);
      held_ -= problem_.state(problem_.loaded()[oldest_], choices_[done]).space;
      ++oldest_;
    }
    const std::int32_t first = problem_.not_before(op);
    if (first > 0) {
      begin = std::max(begin, times_.executes[static_cast<std::size_t>(first) - 1].end.value);
    }
    const bool idle = next_ == 0 || begin > end_;
    end_ = begin + state.time.value + (idle ? problem_.chip().hbm->latency.value : 0.0);
    held_ += state.space;
    times_.preloads[at] = {.begin = {begin}, .end = {end_}};
  }

  const Problem& problem_;
  const std::vector<Choice>& choices_;
  cost::TimelineResult& times_;
  Bytes room_;
  std::size_t next_ = 0;
  std::size_t oldest_ = 0;
  Bytes held_{0};
  double end_ = 0.0;
};

}  // namespace

Ideal ideal(Problem& problem) {
  const auto count = static_cast<std::size_t>(problem.op_count());
  Ideal result{.schedule = {.ops = {}, .preload_order = problem.loaded(), .issued_before = {}},
               .in_place = {},
               .times = {}};
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    const cost::Front& front = problem.front(op);
    const auto& states = front.options[static_cast<std::size_t>(front.fastest)].states;
    result.schedule.ops.push_back(
        {.option = front.fastest, .state = static_cast<std::int32_t>(states.size()) - 1});
  }
  const std::vector<Choice>& choices = result.schedule.ops;
  result.times.preloads.resize(count);
  result.times.executes.resize(count);
  Preloads preloads(problem, choices, result.times);
  double now = 0.0;
  std::vector<Bytes> rest;
  std::size_t issuable = 0;  // places of the preload order that nothing keeps back
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    const auto at = static_cast<std::size_t>(op);
    preloads.upto(op);
    const InPlace& in_place = problem.in_place(op, choices);
    cost::PreloadState free = problem.state(op, choices[at]);
    free.distribute = {};
    const double seconds =
        work(problem.option(op, choices[at]), free, in_place.gather).alone().value;
    const double begin = std::max(now, result.times.preloads[at].end.value);
    now = begin + seconds;
    result.times.executes[at] = {.begin = {begin}, .end = {now}};
    result.in_place.push_back(in_place);
    rest.push_back(problem.option(op, choices[at]).footprint.rest);
    while (issuable < problem.loaded().size() &&
           problem.not_before(problem.loaded()[issuable]) <= op) {
      ++issuable;
    }
    result.schedule.issued_before.push_back(static_cast<std::int32_t>(issuable));
  }
  result.times.total = {now};
  for (const cost::WriteBack& store : write_backs(problem, rest)) {
    const double begin =
        std::max(result.times.executes[static_cast<std::size_t>(store.op)].end.value,
                 result.times.stores.empty() ? 0.0 : result.times.stores.back().end.value);
    const double end = begin + store.load.time.value;
    result.times.stores.push_back({.begin = {begin}, .end = {end}});
    result.times.total = {std::max(result.times.total.value, end)};
  }
  return result;
}

}  // namespace elk::schedule
