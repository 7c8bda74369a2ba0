#pragma once

#include <cstdint>
#include <vector>

#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/schedule.hpp"
#include "elk/schedule/timing/evaluate.hpp"

namespace elk::schedule {

/// Choices that change one by one, with their situation kept true at the cost of what changes.
class Draft {
 public:
  Draft(Problem& problem, std::vector<Choice> choices, TimingRules rules = TimingRules::Chip);

  [[nodiscard]] const std::vector<Choice>& choices() const { return choices_; }
  [[nodiscard]] const Situation& situation() const { return situation_; }

  void set(std::int32_t op, const Choice& choice);

 private:
  void settle(std::int32_t op);

  [[nodiscard]] OpSituation now(std::int32_t op);

  Problem& problem_;
  TimingRules rules_;
  std::vector<Choice> choices_;
  Situation situation_;
  std::vector<Bytes> own_;                    // per op, as in its part
  std::vector<std::vector<Lifetime>> lives_;  // per op, of the tensors it makes
};

}  // namespace elk::schedule
