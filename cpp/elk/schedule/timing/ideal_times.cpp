#include "elk/schedule/timing/ideal_times.hpp"

#include <algorithm>
#include <cstddef>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"

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
  void upto(OpId op) {
    while (next_ < problem_.loaded().size() && problem_.loaded()[next_] <= op) {
      run(problem_.loaded()[next_]);
      ++next_;
    }
  }

 private:
  void run(OpId op) {
    double begin = end_;
    while (held_ + situation_.piece[op] > room_ && oldest_ < next_) {
      const OpId done = problem_.loaded()[oldest_];
      begin = std::max(begin, times_.executes[done].end.value);
      held_ -= situation_.piece[done];
      ++oldest_;
    }
    const OpId first = problem_.not_before(op);
    if (first > OpId{0}) {
      begin = std::max(begin, times_.executes[first - 1].end.value);
    }
    const bool idle = next_ == 0 || begin > end_;
    end_ =
        begin + situation_.loads[op].time.value + (idle ? problem_.chip().hbm->latency.value : 0.0);
    held_ += situation_.piece[op];
    times_.preloads[op] = {.begin = {begin}, .end = {end_}};
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

Choice least_preloaded(const Problem& problem, OpId op, const Choice& choice) {
  const auto states = static_cast<std::int32_t>(problem.option(op, choice).states.size());
  return {.option = choice.option, .state = states - 1};
}

Table<OpId, Choice> least_preloaded(const Problem& problem, Table<OpId, Choice> choices) {
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    choices[op] = least_preloaded(problem, op, choices[op]);
  }
  return choices;
}

bool fits_ideally(const Problem& problem, OpId op, const Choice& choice) {
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
  for (const OpId op : first_ids<OpId>(count)) {
    preloads.upto(op);
    const double begin = std::max(now, result.preloads[op].end.value);
    now = begin + situation.works[op].alone().value;
    result.executes[op] = {.begin = {begin}, .end = {now}};
  }
  result.total = {now};
  for (const cost::WriteBack& store : write_backs(problem, situation.rest)) {
    const double before = result.stores.empty() ? 0.0 : result.stores.back().end.value;
    const double begin = std::max(result.executes[store.op].end.value, before);
    const double end = begin + store.load.time.value;
    result.stores.push_back({.begin = {begin}, .end = {end}});
    result.total = {std::max(result.total.value, end)};
  }
  return result;
}

}  // namespace elk::schedule
