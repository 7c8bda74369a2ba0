#include "elk/schedule/timing/ideal_times.hpp"

#include <algorithm>
#include <cstddef>

#include "elk/base/ids.hpp"

namespace elk::schedule {
namespace {

/// The preload side: one after another from the start, as far ahead as its own SRAM holds.
class Preloads {
 public:
  Preloads(const Problem& problem, const Situation& situation, cost::TimelineResult& times)
      : problem_(problem),
        situation_(situation),
        times_(times),
        room_(chip::room(problem.chip())) {}

  /// Runs preloads until that of `op` is over.
  void upto(std::int32_t op) {
    while (next_ < problem_.loaded().size() && problem_.loaded()[next_] <= op) {
      run(problem_.loaded()[next_]);
      ++next_;
    }
  }

 private:
  void run(std::int32_t op) {
    const std::size_t at = subscript(op);
    double begin = end_;
    while (held_ + situation_.piece[at] > room_ && oldest_ < next_) {
      const std::size_t done = subscript(problem_.loaded()[oldest_]);
      begin = std::max(begin, times_.executes[done].end.value);
      held_ -= situation_.piece[done];
      ++oldest_;
    }
    const std::int32_t first = problem_.not_before(op);
    if (first > 0) {
      begin = std::max(begin, times_.executes[subscript(first) - 1].end.value);
    }
    const bool idle = next_ == 0 || begin > end_;
    end_ =
        begin + situation_.loads[at].time.value + (idle ? problem_.chip().hbm->latency.value : 0.0);
    held_ += situation_.piece[at];
    times_.preloads[at] = {.begin = {begin}, .end = {end_}};
  }

  const Problem& problem_;
  const Situation& situation_;
  cost::TimelineResult& times_;
  Bytes room_;
  std::size_t next_ = 0;
  std::size_t oldest_ = 0;
  Bytes held_{0};
  double end_ = 0.0;
};

}  // namespace

Choice least_preloaded(const Problem& problem, std::int32_t op, const Choice& choice) {
  const auto states = static_cast<std::int32_t>(problem.option(op, choice).states.size());
  return {.option = choice.option, .state = states - 1};
}

std::vector<Choice> least_preloaded(const Problem& problem, std::vector<Choice> choices) {
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    choices[subscript(op)] = least_preloaded(problem, op, choices[subscript(op)]);
  }
  return choices;
}

bool fits_ideally(const Problem& problem, std::int32_t op, const Choice& choice) {
  const Bytes room = chip::room(problem.chip());
  return problem.option(op, choice).footprint.space <= room &&
         (!problem.is_loaded(op) || problem.state(op, choice).space <= room);
}

cost::TimelineResult ideal_times(const Problem& problem, const Situation& situation) {
  const std::size_t count = situation.works.size();
  cost::TimelineResult result;
  result.preloads.resize(count);
  result.executes.resize(count);
  Preloads preloads(problem, situation, result);
  double now = 0.0;
  for (std::size_t op = 0; op < count; ++op) {
    preloads.upto(static_cast<std::int32_t>(op));
    const double begin = std::max(now, result.preloads[op].end.value);
    now = begin + situation.works[op].alone().value;
    result.executes[op] = {.begin = {begin}, .end = {now}};
  }
  result.total = {now};
  for (const cost::WriteBack& store : write_backs(problem, situation.rest)) {
    const double before = result.stores.empty() ? 0.0 : result.stores.back().end.value;
    const double begin = std::max(result.executes[subscript(store.op)].end.value, before);
    const double end = begin + store.load.time.value;
    result.stores.push_back({.begin = {begin}, .end = {end}});
    result.total = {std::max(result.total.value, end)};
  }
  return result;
}

}  // namespace elk::schedule
