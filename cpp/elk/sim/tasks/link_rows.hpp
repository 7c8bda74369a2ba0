#pragma once

#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/sim/network/machine_network.hpp"
#include "elk/sim/play/run.hpp"
#include "elk/sim/tasks/task_player.hpp"

namespace elk::sim {

/// What every link and port of a network carried, in the order of its resources.
[[nodiscard]] std::vector<LinkRow> link_rows(const MachineNetwork& network, const chip::Chip& chip,
                                             const TasksRun& played);

}  // namespace elk::sim
