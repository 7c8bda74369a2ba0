#pragma once

#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/schedule.hpp"
#include "elk/schedule/timing/evaluate.hpp"
#include "elk/schedule/timing/idle.hpp"

namespace elk::schedule {

/// Choices that change one by one, with their situation kept true at the cost of what changes.
class Draft {
 public:
  Draft(Problem& problem, Table<OpId, Choice> choices, TimingRules rules = TimingRules::Chip);

  [[nodiscard]] const Table<OpId, Choice>& choices() const { return choices_; }
  [[nodiscard]] const Situation& situation() const { return situation_; }

  void set(OpId op, const Choice& choice);

 private:
  void settle(OpId op);

  [[nodiscard]] OpSituation now(OpId op);

  Problem& problem_;
  TimingRules rules_;
  Table<OpId, Choice> choices_;
  Situation situation_;
  IdleBytes idle_;
  Table<OpId, Bytes> own_;                    // per op, as in its part
  Table<OpId, std::vector<Lifetime>> lives_;  // per op, of the tensors it makes
};

}  // namespace elk::schedule
