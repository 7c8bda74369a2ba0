#include "elk/sim/tasks/link_rows.hpp"

#include "elk/base/ids.hpp"
#include "elk/sim/record/named_links.hpp"

namespace elk::sim {

std::vector<LinkRow> link_rows(const MachineNetwork& network, const chip::Chip& chip,
                               const TasksRun& played) {
  std::vector<LinkRow> rows;
  for (const NamedLink& link : named_links(network, chip)) {
    rows.push_back({.kind = link.kind,
                    .from = link.from,
                    .to = link.to,
                    .rate = network.machine().resources[link.resource.index()].capacity,
                    .carried = played.carried[link.resource.index()],
                    .busy = played.busy[link.resource.index()]});
  }
  return rows;
}

}  // namespace elk::sim
