#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/chip/network.hpp"
#include "elk/sim/flows/engine.hpp"
#include "elk/sim/network/hbm.hpp"

namespace elk::sim {

/// Directed links that leave a chip, at most.
inline constexpr std::int64_t kLinksOfChip = 4;

/// A module of one chip: its number on the machine, `chip * modules + module of the chip`.
using ModuleId = Id<struct ModuleKind>;

/// What a flow loads on its way, and how long its last byte is under way. One flow stands for a
/// multicast: it loads the port of its sender, each link of its tree and each receiver's port once.
struct Path {
  std::vector<ResourceUse> uses;  // by resource, each once
  Picoseconds latency;
  std::int64_t hops;  // links passed on the longest branch; 1 on all-to-all

  friend bool operator==(const Path&, const Path&) = default;
};

/// All resources of a machine, and the ways through it. Cores are numbered over the machine: chip
/// times cores of a chip plus the number on the chip. Ways between cores are those of
/// `chip::Network`, along the row first; those from a module enter and turn as `chip/ways.hpp`
/// says, and those to one turn the other way.
///
/// Resources: of every core, its SRAM port (which transfers load only where remote access blocks)
/// and its send and receive ports (all-to-all) or the links and ports beside it; of every
/// module, its memory (all its channels together, over which data lies striped evenly) and on a
/// grid the links from and to the nodes that it is attached to; of every chip, its ways out and in,
/// and room for the directed links that leave it, which a ring or mesh of chips has; where nodes of
/// a grid have fewer ports than links, the ports of every core into the network, together, and
/// those out of it.
class MachineNetwork {
 public:
  explicit MachineNetwork(const chip::Chip& chip);

  [[nodiscard]] const Machine& machine() const { return machine_; }

  /// From one core to another; between chips through the links of both.
  [[nodiscard]] Path path(CoreId from, CoreId to) const;

  /// From one core to all of `to`: one path where the chip has multicast, else one for each.
  /// Through the links of chips a byte passes once for each chip that it goes to.
  [[nodiscard]] std::vector<Path> paths(CoreId from, std::span<const CoreId> to) const;

  /// From a module to cores of its chip; multicast as above. `weight`: of a byte on the module,
  /// `kHbmWeight` if it is read sequentially. `node`: through which of those that the module is
  /// attached to; where it is attached to none, 0.
  [[nodiscard]] std::vector<Path> read_paths(ModuleId module, std::span<const CoreId> to,
                                             std::int32_t weight, std::int32_t node) const;

  /// From a core to a module of its chip.
  [[nodiscard]] Path write_path(CoreId from, ModuleId module, std::int32_t weight,
                                std::int32_t node) const;

  /// The core of a node that a module is attached to, the link from the module into it, and which
  /// way data turn there; the link back to the module, and which way data take there.
  struct ModuleEntry {
    CoreId core;
    ResourceId link;
    chip::DimOrder turn;
    ResourceId out;
    chip::DimOrder back;
  };
  [[nodiscard]] ModuleEntry entry(ModuleId module, std::int32_t node) const;
  [[nodiscard]] std::int32_t nodes_of(ModuleId module) const;
  [[nodiscard]] Picoseconds hop_latency() const { return hop_; }
  [[nodiscard]] bool blocks() const { return blocks_; }

  [[nodiscard]] ResourceId sram_port(CoreId core) const;
  [[nodiscard]] ResourceId send_port(CoreId core) const;                // all-to-all only
  [[nodiscard]] ResourceId receive_port(CoreId core) const;             // all-to-all only
  [[nodiscard]] ResourceId link(CoreId core, std::int32_t link) const;  // of `chip::Hop`
  [[nodiscard]] bool has_node_ports() const { return node_ports_; }
  [[nodiscard]] ResourceId port_in(CoreId core) const;   // with ports only: into the network
  [[nodiscard]] ResourceId port_out(CoreId core) const;  // out of it
  [[nodiscard]] ResourceId memory(ModuleId module) const;
  [[nodiscard]] ResourceId chip_out(std::int64_t chip) const;  // with several chips only
  [[nodiscard]] ResourceId chip_in(std::int64_t chip) const;
  [[nodiscard]] ResourceId chip_link(std::int64_t chip, std::int32_t link) const;
  [[nodiscard]] std::int64_t modules() const { return modules_ * chips_; }
  [[nodiscard]] std::int64_t cores() const { return cores_ * chips_; }
  [[nodiscard]] std::int64_t cores_of_chip() const { return cores_; }
  [[nodiscard]] std::int64_t chips() const { return chips_; }
  [[nodiscard]] const chip::Network& lines() const { return lines_; }  // of one chip's cores

 private:
  /// Where the resources of one chip begin, from its first.
  struct ResourceOffsets {
    std::int32_t links;  // after the SRAM ports
    std::int32_t memories;
    std::int32_t injection;  // of each node of each module a link in and a link out
    std::int32_t between;    // out, in, then four directed links
    std::int32_t ports;      // of every node in, then of every node out
    std::int32_t end;
  };

  struct ModuleNode {
    CoreId core;          // of the chip
    std::int32_t link;    // from the module to the node; the next one leads back
    chip::DimOrder turn;  // of data that pass it on their way in
  };

  struct Branches;

  void add(std::int64_t count, double rate, bool refreshes);
  void add_chip(const chip::Chip& chip);
  void attach(const chip::Chip& chip);
  [[nodiscard]] ResourceId resource(std::int64_t chip, std::int64_t offset) const;
  [[nodiscard]] std::int64_t port_core(std::int64_t core) const;
  [[nodiscard]] std::int64_t chip_of(CoreId core) const { return core.value / cores_; }
  [[nodiscard]] std::int64_t local(CoreId core) const { return core.value % cores_; }
  void expect(Branches& out, std::size_t branches) const;
  void route(Branches& out, std::int64_t chip, std::int64_t from, std::int64_t to,
             chip::DimOrder turn = chip::DimOrder::RowFirst) const;
  void route_chips(Branches& out, std::int64_t from, std::int64_t to) const;
  void reach(Branches& out, CoreId from, CoreId to) const;
  [[nodiscard]] const ModuleNode& attached(ModuleId module, std::int32_t node) const;
  [[nodiscard]] Path finish(Branches& branches) const;

  Machine machine_;
  chip::Network lines_;       // of one chip's cores
  chip::Network chip_lines_;  // of the chips
  bool all_to_all_;           // whether cores have ports alone
  bool multicast_;
  bool blocks_;
  bool node_ports_;
  std::int64_t chips_;
  std::int64_t cores_;  // of one chip
  std::int64_t modules_;
  std::int64_t port_cores_;
  Picoseconds hop_;
  Picoseconds between_;
  ResourceOffsets offsets_{};
  std::vector<std::vector<ModuleNode>> nodes_;  // per module of one chip
};

}  // namespace elk::sim
