#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/chip/chip.hpp"
#include "elk/sim/network/machine_network.hpp"
#include "elk/sim/play/run.hpp"

namespace elk::sim {

/// A link or port of a network, and the cores, chips or neither (-1) that it leads from and to.
struct NamedLink {
  LinkKind kind;
  ResourceId resource;
  std::int32_t from;
  std::int32_t to;
};

/// All links and ports of a network: of every core, of modules on a grid, of chips.
[[nodiscard]] std::vector<NamedLink> named_links(const MachineNetwork& network,
                                                 const chip::Chip& chip);

}  // namespace elk::sim
