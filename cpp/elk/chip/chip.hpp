#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/units.hpp"

namespace elk::chip {

using BytesPerSecond = double;

enum class Topology : std::uint8_t { AllToAll, Mesh2d, Torus2d, Ring };
enum class HbmPosition : std::uint8_t { Nodes, EdgesLeftRight, EdgesAll };

/// The cores of one chip, all alike.
struct Core {
  std::int64_t count;  // of one chip
  std::int64_t rows;   // rows * cols = count on a mesh or a torus; both 0 elsewhere
  std::int64_t cols;
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

/// Cores of the whole machine.
[[nodiscard]] std::int64_t total_cores(const Chip& chip);

/// SRAM of one core that plans may use.
[[nodiscard]] Bytes room(const Chip& chip);

/// Whether a transfer crosses other cores' routers: everything but all-to-all.
[[nodiscard]] bool is_mesh(const Chip& chip);

/// Whether cores lie in rows and columns: a mesh or a torus.
[[nodiscard]] bool is_grid(const Chip& chip);

/// For each HBM module, the cores of one chip through whose nodes it injects, each over one link.
/// Modules at the edges share them evenly, clockwise from the corner of core 0 (EdgesLeftRight:
/// left column, then right); modules at nodes sit in the middle of equal parts of the grid or ring.
/// Empty on all-to-all, where a module has a node of its own, and without HBM.
[[nodiscard]] std::vector<std::vector<CoreId>> attached_cores(const Chip& chip);

/// What HBM data meets on its way to the cores of one chip. Without a limit: infinity.
struct Delivery {
  BytesPerSecond hbm;        // peak of the modules, capped by ports and outstanding bytes
  BytesPerSecond injection;  // one link of each node that a module is attached to
  BytesPerSecond edge_cut;   // links from those nodes to others, over the share of the data that
                             // goes to others when it is spread evenly
  BytesPerSecond receive;    // receive ports of all cores, on all-to-all
  BytesPerSecond bisection;  // from one half of the cores to the other; met by data of one half
                             // that the other needs, not by data spread evenly
  BytesPerSecond rate;       // the smallest of the first four: no preload is faster
  std::string bound_by;      // its name: "hbm", "injection", "edge_cut" or "receive"
};

/// The limits of preloads. Throws InvalidInput if the chip has no HBM.
[[nodiscard]] Delivery delivery(const Chip& chip);

/// Seconds to read `bytes` that lie striped over all channels of one chip:
///
///     t = L + x / B + n S
///
/// where x is `bytes`, B is the peak rate, each channel capped by `outstanding / latency`, and S is
/// the stall of a refresh. After the HBM was `idle`, L is its latency and n the number of refresh
/// boundaries passed, the first one interval after the start. Otherwise L is 0, for the requests
/// are in flight already, and n is the mean number over all phases. Throws InvalidInput without
/// HBM.
[[nodiscard]] Seconds hbm_time(const Chip& chip, double bytes, bool idle);

}  // namespace elk::chip
