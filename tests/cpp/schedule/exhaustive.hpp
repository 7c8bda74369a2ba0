#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/timing/evaluate.hpp"

namespace elk::test {

/// Every way to decide about a model of few ops, by trial.
class Exhaustive {
 public:
  explicit Exhaustive(schedule::Problem& problem)
      : problem_(problem), room_(chip::room(problem.chip())) {}

  /// The least forecast of all choices and preload numbers that fit.
  double least() {
    std::vector<schedule::Choice> choices;
    choose(choices);
    return least_;
  }
  [[nodiscard]] std::int64_t tried() const { return tried_; }
  /// The least time from the begin of the first execute on.
  [[nodiscard]] double least_stretch() const { return least_stretch_; }

 private:
  void choose(std::vector<schedule::Choice>& choices) {
    const auto op = static_cast<std::int32_t>(choices.size());
    if (op == problem_.op_count()) {
      const schedule::Situation now = schedule::situation(problem_, choices);
      std::vector<std::int32_t> slots;
      issue(now, slots);
      return;
    }
    const auto& options = problem_.front(op).options;
    for (std::size_t option = 0; option < options.size(); ++option) {
      for (std::size_t state = 0; state < options[option].states.size(); ++state) {
        choices.push_back({.option = static_cast<std::int32_t>(option),
                           .state = static_cast<std::int32_t>(state)});
        choose(choices);
        choices.pop_back();
      }
    }
  }

  /// All slots of the preloads, in order.
  void issue(const schedule::Situation& now, std::vector<std::int32_t>& slots) {
    if (slots.size() == problem_.loaded().size()) {
      run(now, slots);
      return;
    }
    const std::int32_t op = problem_.loaded()[slots.size()];
    for (std::int32_t slot = slots.empty() ? 0 : slots.back(); slot <= op; ++slot) {
      slots.push_back(slot);
      issue(now, slots);
      slots.pop_back();
    }
  }

  void run(const schedule::Situation& now, const std::vector<std::int32_t>& slots) {
    std::vector<Bytes> used = now.base;
    std::vector<std::int32_t> before(used.size(), 0);
    for (std::size_t place = 0; place < slots.size(); ++place) {
      const std::int32_t op = problem_.loaded()[place];
      for (std::int32_t k = slots[place]; k <= op; ++k) {
        used[static_cast<std::size_t>(k)] += now.piece[static_cast<std::size_t>(op)];
      }
      for (std::size_t k = static_cast<std::size_t>(slots[place]); k < before.size(); ++k) {
        ++before[k];
      }
    }
    if (*std::max_element(used.begin(), used.end()) <= room_) {
      ++tried_;
      const cost::TimelineResult times = schedule::timing(problem_, now, problem_.loaded(), before);
      least_ = std::min(least_, times.total.value);
      least_stretch_ =
          std::min(least_stretch_, times.total.value - times.executes.front().begin.value);
    }
  }

  schedule::Problem& problem_;
  Bytes room_;
  double least_ = std::numeric_limits<double>::infinity();
  double least_stretch_ = std::numeric_limits<double>::infinity();
  std::int64_t tried_ = 0;
};

}  // namespace elk::test
