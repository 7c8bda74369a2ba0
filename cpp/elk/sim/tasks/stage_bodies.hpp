#pragma once

#include <cstdint>
#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/program/expand/execution.hpp"
#include "elk/program/expand/loading.hpp"
#include "elk/sim/network/machine_network.hpp"
#include "elk/sim/play/work.hpp"
#include "elk/sim/tasks/task_graph.hpp"

namespace elk::sim {

/// Turns stages, preloads and stores into bodies of tasks: every send of an exchange takes its way,
/// and every piece from or to the HBM one from or to each memory module, over which it lies
/// striped.
class StageBodies {
 public:
  StageBodies(const chip::Chip& chip, const MachineNetwork& network)
      : chip_(chip), network_(network) {}

  /// `execution` is that of which `stage` was made.
  [[nodiscard]] Body of(const Stage& stage, const program::Execution& execution) const;

  /// `weight`: of a byte on a memory module (`StageLowering::weight`).
  [[nodiscard]] Body of(const program::Loading& loading, std::int32_t weight) const;

 private:
  void add_calls(const Demand& demand, Body& body) const;
  void add_sends(const program::Exchange& exchange, Picoseconds lag, Body& body) const;
  void add_ports(const Demand& demand, Body& body) const;

  const chip::Chip& chip_;
  const MachineNetwork& network_;
};

}  // namespace elk::sim
