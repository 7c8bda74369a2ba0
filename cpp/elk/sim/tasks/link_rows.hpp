#pragma once

#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/sim/network/network.hpp"
#include "elk/sim/play/run.hpp"
#include "elk/sim/tasks/task_player.hpp"

namespace elk::sim {

/// What every link and port of a network carried, in the order of its resources.
[[nodiscard]] std::vector<LinkRow> link_rows(const Network& network, const chip::Chip& chip,
                                             const TasksRun& played);

}  // namespace elk::sim
