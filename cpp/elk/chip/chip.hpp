#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "elk/base/units.hpp"
#include "elk/chip/network.hpp"

namespace elk::chip {

using BytesPerSecond = double;

enum class HbmPosition : std::uint8_t { Nodes, EdgesLeftRight, EdgesAll };

/// The cores of one chip, all alike.
struct Core {
  std::int64_t count;  // of one chip
  std::int64_t rows;   // of the grid, if the topology has one, of count cores; else 0, as the next
  std::int64_t cols;
  std::int64_t depth;  // cores at each place of rows and columns: layers, or groups; else 0
  Bytes sram;
  Bytes reserved;
  double clock_hz;
  BytesPerSecond sram_rate;
  bool remote_access_blocks;
  std::string tile_model;

  friend bool operator==(const Core&, const Core&) = default;
};

/// The network of one chip. `link_rate` is that of a core's one send port and of its one receive
/// port on all-to-all, and that of each directed link elsewhere.
struct Interconnect {
  Topology topology;
  BytesPerSecond link_rate;
  Seconds hop_latency;
  Seconds sync_latency;
  Seconds fragment_latency;
  bool multicast;
  bool overlaps_compute;
  bool native_shift;
  // Of a node of a mesh, torus or ring, into the network and out of it, each as fast as a link;
  // absent: one for each link of the node.
  std::optional<std::int64_t> node_ports = std::nullopt;

  friend bool operator==(const Interconnect&, const Interconnect&) = default;
};

/// The memory modules of one chip.
struct Hbm {
  std::int64_t modules;
  BytesPerSecond rate;       // of one chip, between refreshes
  BytesPerSecond port_rate;  // of one module
  Seconds latency;
  std::int64_t channels;     // of one module
  Seconds refresh_interval;  // 0: no refresh
  Seconds refresh_stall;
  Bytes outstanding;  // of one channel
  Bytes capacity;     // of one chip
  HbmPosition position;

  friend bool operator==(const Hbm&, const Hbm&) = default;
};

/// The network between chips.
struct InterChip {
  BytesPerSecond rate;  // of one chip and direction
  Seconds latency;
  Seconds sync_latency;
  std::int64_t port_cores;
  Topology topology;

  friend bool operator==(const InterChip&, const InterChip&) = default;
};

/// What work costs, in picojoules, and what idling costs, in watts a chip.
struct Energy {
  double pj_per_flop;
  double pj_per_sram_byte;
  double pj_per_link_byte_hop;
  double pj_per_hbm_byte;
  double pj_per_inter_chip_byte;
  double static_w;

  friend bool operator==(const Energy&, const Energy&) = default;
};

/// A machine of `chips` equal chips.
struct Chip {
  std::string name;
  std::int64_t chips;
  Core core;
  Interconnect interconnect;
  std::optional<Hbm> hbm;
  std::optional<InterChip> inter_chip;  // present if, and only if, there are several chips
  BytesPerSecond host_rate;
  std::optional<Energy> energy;

  friend bool operator==(const Chip&, const Chip&) = default;
};

/// Throws InvalidInput naming the field as chip files spell it (`core.sram_bytes`), the rule and
/// the value.
void validate(const Chip& chip);

/// One chip of a pod, for which the graph of one chip is planned. It keeps the network between
/// chips, over which collectives run; `validate` would refuse it.
[[nodiscard]] Chip one_of(const Chip& pod);

/// Cores of the whole machine.
[[nodiscard]] std::int64_t total_cores(const Chip& chip);

/// SRAM of one core that plans may use.
[[nodiscard]] Bytes room(const Chip& chip);

}  // namespace elk::chip
