#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/cost/energy.hpp"
#include "elk/cost/front/front.hpp"
#include "elk/program/program.hpp"
#include "elk/schedule/policies/found.hpp"
#include "elk/schedule/problem/objective.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/schedule.hpp"

namespace elk::schedule {

/// Forecasts what a program's work takes, in joules, with what an op takes alone worked out once
/// for each option of its front. Not shared between threads.
class Ledger {
 public:
  explicit Ledger(Problem& problem);

  [[nodiscard]] double joules(const Table<OpId, Choice>& choices);
  /// Of one op with its operands from everywhere.
  [[nodiscard]] double alone(OpId op, const Choice& choice);

 private:
  [[nodiscard]] double execute(OpId op, const Choice& choice);

  Problem& problem_;
  cost::EnergyForecast energy_;
  std::vector<std::vector<double>> executes_;  // by front and option; below 0: not known yet
  double stores_ = 0.0;
};

/// Tells what a placed program is worth when simulated; less is better.
using Appraisal = std::function<double(const program::Program&)>;

struct Economy {
  Aim aim;
  Policy policy;
  cost::Constraints constraints;
  Appraisal appraise;  // none: forecasts decide
  int threads;
};

/// A schedule that is worth more than `found` by its forecast and, where it is simulated, by that:
/// `found` polished for the aim, with plans that save energy among the choices (`cost::thrifty`).
/// Nothing where there is none.
[[nodiscard]] std::optional<Found> economize(Problem& problem, const Found& found,
                                             const Economy& economy);

}  // namespace elk::schedule
