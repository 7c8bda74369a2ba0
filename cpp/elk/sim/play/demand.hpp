#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/program/expand/execution.hpp"
#include "elk/program/expand/loading.hpp"
#include "elk/sim/network/machine_network.hpp"
#include "elk/sim/network/multicast_trees.hpp"

namespace elk::sim {

/// How many resources are told apart: each of them, or one for all of a kind, loaded as the
/// busiest; or each send as well (`Flows`, sim/tasks).
enum class Fidelity : std::uint8_t { Core, Symmetric, Flows };

/// What one resource has to do in one exchange, preload, store or compute step.
struct ResourceLoad {
  std::int64_t amount;  // bytes; of a computation picoseconds
  Picoseconds tail;     // from its last byte to the end
  Rate rate;            // of the resource
  bool computes;        // rather than moves bytes

  // NOLINTNEXTLINE(readability-implicit-bool-conversion): the comparison as it is defaulted
  friend auto operator<=>(const ResourceLoad&, const ResourceLoad&) = default;
};

/// What something asks of every resource of a machine, equal ones together.
struct Demand {
  std::vector<std::int32_t> kind_of;  // of every resource
  std::vector<ResourceLoad> kinds;    // the first asks nothing
  Bytes stream{0};                    // of a preload or store: at the HBM of the busiest chip
  Picoseconds latency{0};             // from the last byte anywhere to the end
  bool crosses = false;               // whether anything goes from chip to chip
  Bytes busiest{0};                   // bytes of the busiest core, received or sent
  Bytes most_received{0};             // by any core
  Bytes received{0};                  // by all cores
  Bytes hop_bytes{0};                 // bytes times links passed
  Bytes chip_bytes{0};                // between chips
  Bytes hbm{0};                       // read or written, over all chips
};

/// Two demands at the same time: a shift that is hidden behind a computation.
[[nodiscard]] Demand beside(const Demand& a, const Demand& b);

/// Resources of one kind, [begin, end).
struct ResourceRange {
  std::int32_t type;
  std::size_t begin;
  std::size_t end;
};

struct ResourceSums;

/// Turns exchanges, preloads and tile calls into demands on the resources of a network, one after
/// another.
class Demands {
 public:
  Demands(const chip::Chip& chip, Fidelity fidelity);

  [[nodiscard]] Demand nothing() const;
  [[nodiscard]] Demand of(const program::Exchange& exchange);
  /// `weight`: of a byte on a memory module, `kHbmWeight` if it is read sequentially.
  [[nodiscard]] Demand of(const program::Loading& loading, std::int32_t weight);
  /// One step of a collective's link phase: over the links of its chip and through its ports.
  [[nodiscard]] Demand of(const program::CollectiveSteps& crossing,
                          const program::CollectiveMoves& collective);
  /// `alone[i]`: of the calls of `tiles[i]`.
  [[nodiscard]] Demand of(std::span<const program::Tiles> tiles,
                          std::span<const Picoseconds> alone);

  [[nodiscard]] const MachineNetwork& network() const { return network_; }

 private:
  [[nodiscard]] program::PortTraffic count_links(const program::Exchange& exchange,
                                                 ResourceSums& sums);
  void count_ends(const program::PortTraffic& traffic, ResourceSums& sums) const;
  [[nodiscard]] bool on_one_chip(CoreId from, std::span<const std::int32_t> receivers) const;
  [[nodiscard]] Picoseconds send_abroad(CoreId from, std::span<const std::int32_t> receivers,
                                        std::int64_t bytes, ResourceSums& sums) const;
  void count_ports(CoreId from, std::span<const std::int32_t> receivers, std::int64_t bytes,
                   ResourceSums& sums) const;
  void count_core_ports(const program::Loading& loading, std::span<const std::int64_t> bytes_of,
                        ResourceSums& sums) const;
  void count_ways(const program::Loading& loading, ResourceSums& sums);
  void store(std::int32_t core, const MachineNetwork::ModuleEntry& to, std::int64_t bytes,
             ResourceSums& sums);
  void count_blocked(std::span<const std::int32_t> cores, std::int64_t bytes,
                     ResourceSums& sums) const;
  void add_path(const Path& path, std::int64_t bytes, ResourceSums& sums) const;
  void count_memory(const program::Loading& loading, std::int32_t weight, ResourceSums& sums) const;
  [[nodiscard]] Demand pack(ResourceSums& sums) const;

  const chip::Chip& chip_;
  Fidelity fidelity_;
  MachineNetwork network_;
  std::vector<std::int32_t> type_of_;  // of every resource
  std::vector<ResourceRange> ranges_;
  std::vector<std::int64_t> amount_;  // of every resource; zero between demands
  Picoseconds fragment_;
  MulticastTrees trees_;  // empty between demands
};

}  // namespace elk::sim
