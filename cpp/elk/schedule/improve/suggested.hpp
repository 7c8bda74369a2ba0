#pragma once

#include <vector>

#include "elk/base/units.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/schedule.hpp"

namespace elk::schedule {

/// Choices of each front that the bound takes (`neighbour_cuts`), where they fit in `room`: good
/// together, they need not be among the best of any op alone. Nothing rotates, and preloads bring
/// as much as there is of their op's states. Adds the plans to the fronts.
[[nodiscard]] std::vector<std::vector<Choice>> suggested(Problem& problem, Bytes room);

}  // namespace elk::schedule
