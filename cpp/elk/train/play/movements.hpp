#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/sim/network/machine_network.hpp"
#include "elk/sim/tasks/task_graph.hpp"
#include "elk/train/plan/device_times.hpp"

namespace elk::train {

/// One device sends to another.
struct DeviceSend {
  CoreId from;
  CoreId to;
};

/// Devices in the order of a ring.
using DeviceGroups = std::vector<std::vector<CoreId>>;

/// Each member of each group to the next, and the last to the first.
[[nodiscard]] std::vector<DeviceSend> around(const DeviceGroups& groups);

/// What devices of a machine send each other, and move from and to memory.
class Movements {
 public:
  Movements(const chip::Chip& chip, const sim::MachineNetwork& network);

  /// All of `sends` at once, each of so many bytes.
  [[nodiscard]] sim::Body sending(std::span<const DeviceSend> sends, Bytes bytes) const;
  /// The time to synchronise before that: that of chips where a send leaves one.
  [[nodiscard]] Picoseconds sync(std::span<const DeviceSend> sends) const;

  /// Adds what a device reads and writes at the module nearest to it.
  void add_memory(CoreId device, DramTraffic traffic, sim::Body& body);

  [[nodiscard]] const sim::MachineNetwork& network() const { return network_; }
  [[nodiscard]] bool has_memory() const { return chip_.hbm.has_value(); }

 private:
  /// The module of a device, and the node through which it is reached.
  struct NearestModule {
    sim::ModuleId module;
    std::int32_t node;
  };

  [[nodiscard]] const NearestModule& nearest(CoreId device);
  [[nodiscard]] std::int64_t hops(sim::ModuleId module, std::int32_t node, CoreId device) const;

  const chip::Chip& chip_;
  const sim::MachineNetwork& network_;
  std::map<CoreId, NearestModule> nearest_;  // of each device that has asked
  std::vector<std::int64_t> readers_;        // of each module, devices that use it
};

}  // namespace elk::train
