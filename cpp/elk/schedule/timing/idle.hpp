#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/schedule.hpp"
#include "elk/schedule/timing/allocate.hpp"

namespace elk::schedule {

/// The idle bytes of all ops of a model on a chip without HBM, as choices come and go. A tensor
/// that lies evenly over all cores is there once for all that read it.
class IdleBytes {
 public:
  explicit IdleBytes(const Problem& problem);

  void add(OpId op, const Choice& choice) { change(op, choice, 1); }
  void take(OpId op, const Choice& choice) { change(op, choice, -1); }
  [[nodiscard]] Bytes total() const { return total_; }

 private:
  void change(OpId op, const Choice& choice, std::int32_t sign);

  const Problem& problem_;
  Table<TensorId, std::int32_t> readers_;  // ops that find the tensor evenly over all cores
  Bytes total_{0};
};

/// Idle and active memory of an op under one choice, and its seconds.
struct IdleChoice {
  Choice choice;
  Bytes idle;
  Bytes active;  // during the execute, beside `idle`
  double seconds;
};

/// What a choice of a front gathers when it is held against others.
enum class Gathers : std::uint8_t {
  Everything,  // as if nothing it reads were in place
  Nothing,     // as if all it reads were in place
  Perhaps,     // nothing, against others that gather everything: which it will is not known
};

/// The choices of a front that no other undercuts in idle and active memory and in time, the setup
/// included; least idle memory first.
[[nodiscard]] std::vector<IdleChoice> idle_choices(const cost::Front& front,
                                                   const Contention& contention, Gathers gathers);

/// The largest preload state of a plan that takes at most `most`, or else the smallest.
[[nodiscard]] std::int32_t largest_state(const cost::PlanOption& plan, Bytes most);

}  // namespace elk::schedule
