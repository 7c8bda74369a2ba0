#pragma once

#include <optional>
#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/compile/compile.hpp"
#include "elk/schedule/policies/economize.hpp"
#include "elk/schedule/policies/search.hpp"
#include "elk/schedule/problem/objective.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/sim/play/run.hpp"

namespace elk::compile {

/// Throws InvalidInput where a chip or a policy cannot serve an objective.
void check_objective(const chip::Chip& chip, const Options& options);

/// The asked policy, and those below it that serve the objective, too; best first.
[[nodiscard]] std::vector<schedule::Policy> policies_from(const Options& options);

/// What a run's work takes in joules, by the coefficients of `chip`; idling aside.
[[nodiscard]] double work_joules(const sim::Run& run, const chip::Chip& chip);

/// Puts in `found`'s place a schedule that serves the objective of `options` better, if there is
/// one, and tells what both are worth; nothing where the objective is latency.
[[nodiscard]] std::optional<Aimed> aim(schedule::Problem& problem, const Options& options,
                                       schedule::Found& found);

/// What is to be least of a plan: its forecast latency or what it was aimed at.
[[nodiscard]] double worth(const Plan& plan);

/// Makes what is reached that of a pod of `chips`, each of which runs the plan.
void count_chips(std::int64_t chips, std::optional<Aimed>& aimed);

}  // namespace elk::compile
