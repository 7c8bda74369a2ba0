#pragma once

#include <optional>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/schedule.hpp"
#include "elk/schedule/timing/allocate.hpp"

namespace elk::schedule {

/// The choices of a front that a schedule is likely to want, sorted: the cheapest of those that
/// take at most half, a quarter and so on of the largest power of two, whether preloads delay the
/// model or not. More SRAM adds to them and puts out none. Without HBM, least idle memory first:
/// all that no other choice undercuts in idle and active memory and in time.
[[nodiscard]] std::vector<Choice> likely_choices(const Problem& problem, const cost::Front& front,
                                                 const Contention& contention);

/// The choice with which `reader` works on what `op` made as it lies, if there is one. Adds it to
/// the front where it is missing.
[[nodiscard]] std::optional<Choice> following(Problem& problem, OpId reader, OpId op,
                                              const Table<OpId, Choice>& choices);

}  // namespace elk::schedule
