#pragma once

#include <cstdint>

#include "elk/base/units.hpp"

namespace elk::schedule {

/// What a plan is to have least of: time, energy, or the product of both.
enum class Objective : std::uint8_t { Latency, Energy, Edp };

/// An objective, with the watts that pass while a program runs, whatever it does.
struct Aim {
  Objective objective;
  double static_w;

  /// Joules of a run of `time`, of which its work takes `work`.
  [[nodiscard]] double joules(Seconds time, double work) const {
    return work + (static_w * time.value);
  }
  /// What is to be least: seconds, joules, or joule seconds.
  [[nodiscard]] double worth(Seconds time, double work) const {
    switch (objective) {
      case Objective::Latency:
        return time.value;
      case Objective::Energy:
        return joules(time, work);
      case Objective::Edp:
        return joules(time, work) * time.value;
    }
    return time.value;
  }
};

}  // namespace elk::schedule
