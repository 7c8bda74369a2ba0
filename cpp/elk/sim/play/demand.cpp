#include "elk/sim/play/demand.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/chip/ways.hpp"
#include "elk/sim/play/load_ways.hpp"
#include "elk/sim/play/sums.hpp"

namespace elk::sim {
namespace {

CoreId core_id(std::int64_t core) { return id_at<CoreId>(static_cast<std::size_t>(core)); }

}  // namespace

Demands::Demands(const chip::Chip& chip, Fidelity fidelity)
    : chip_(chip),
      fidelity_(fidelity),
      network_(chip),
      type_of_(types_of(network_, chip)),
      ranges_(ranges_of(type_of_)),
      amount_(type_of_.size(), 0),
      fragment_(to_latency(chip.interconnect.fragment_latency)),
      trees_(network_) {}

Demand Demands::nothing() const {
  Demand out;
  const bool folded = fidelity_ == Fidelity::Symmetric;
  out.kind_of.assign(folded ? kTypes : type_of_.size(), 0);
  out.kinds.push_back(kNothing);
  return out;
}

Demand Demands::of(const program::Exchange& exchange) {
  ResourceSums sums{.amount = amount_, .tail = {}, .about = {}};
  sums.touch({kSend, kReceive, kIn, kOut});
  const bool mesh = network_.lines().routed();
  const program::PortTraffic traffic =
      mesh ? count_links(exchange, sums) : program::traffic(exchange, chip_);
  sums.about.busiest = {program::busiest(traffic)};
  for (const std::int64_t bytes : traffic.received) {
    sums.about.received.value += bytes;
    sums.about.most_received.value = std::max(sums.about.most_received.value, bytes);
  }
  for (std::int64_t c = 0; c < chip_.chips && chip_.inter_chip; ++c) {
    const auto chip = static_cast<std::size_t>(c);
    sums.amount[network_.chip_in(c).index()] = traffic.chip_in[chip];
    sums.amount[network_.chip_out(c).index()] = traffic.chip_out[chip];
    sums.about.chip_bytes.value += traffic.chip_in[chip];
    sums.about.crosses = sums.about.crosses || traffic.chip_in[chip] > 0;
  }
  if (sums.about.crosses) {
    sums.about.latency = std::max(sums.about.latency, to_latency(chip_.inter_chip->latency));
  }
  if (mesh) {
    sums.about.latency +=
        fragment_ * *std::max_element(traffic.fragments.begin(), traffic.fragments.end());
  } else {
    count_ends(traffic, sums);
  }
  return pack(sums);
}

/// All-to-all, the ports of senders and receivers.
void Demands::count_ends(const program::PortTraffic& traffic, ResourceSums& sums) const {
  sums.about.hop_bytes = sums.about.received;
  sums.tail.assign(type_of_.size(), Picoseconds{0});
  for (std::int64_t c = 0; c < network_.cores(); ++c) {
    const auto core = static_cast<std::size_t>(c);
    const ResourceId receive = network_.receive_port(core_id(c));
    sums.amount[receive.index()] = traffic.received[core];
    sums.tail[receive.index()] = fragment_ * traffic.fragments[core];
    sums.amount[network_.send_port(core_id(c)).index()] = traffic.sent[core];
  }
}

void Demands::add_path(const Path& path, std::int64_t bytes, ResourceSums& sums) const {
  sums.touched.fill(true);
  for (const ResourceUse& use : path.uses) {
    const std::int32_t type = type_of_[use.resource.index()];
    if (type == kOut || type == kIn || type == kMemory) {
      continue;  // Counted once for each chip, and for each byte that is read.
    }
    sums.amount[use.resource.index()] += bytes * use.weight;
    const bool passed = type == kLink || (network_.lines().routed() && type == kReceive);
    sums.about.hop_bytes.value += passed ? bytes : 0;
  }
}

/// On a grid every send takes its way over links. Returns what ports have to do.
program::PortTraffic Demands::count_links(const program::Exchange& exchange, ResourceSums& sums) {
  program::PortTraffic traffic = program::no_sends(exchange, chip_);
  const program::VisitReceivers ignore = [](std::int64_t, std::span<const std::int32_t>) {};
  program::Cores senders;
  std::int64_t turn = 0;
  Picoseconds longest{0};
  sums.touch({kLink, kSram});
  program::for_each_send(exchange, chip_, [&](const program::Send& send) {
    program::add_send(send, chip_, ignore, traffic);
    program::sources(send, network_.cores(), turn, senders);
    const std::int64_t bytes = ceil_div(send.bytes, static_cast<std::int64_t>(senders.size()));
    bool aimed = false;
    for (const std::int32_t sender : senders) {
      const CoreId from{sender};
      if (!on_one_chip(from, send.receivers)) {
        longest = std::max(longest, send_abroad(from, send.receivers, bytes, sums));
        continue;
      }
      if (!std::exchange(aimed, true)) {
        trees_.aim(send.receivers);
      }
      sums.about.hop_bytes.value += bytes * trees_.add(from, chip::DimOrder::RowFirst, bytes);
      count_ports(from, send.receivers, bytes, sums);
    }
  });
  sums.about.latency = std::max(longest, network_.hop_latency() * trees_.longest());
  trees_.settle(sums.amount);
  return traffic;
}

/// A send of which no one tree over a grid is the way. Returns its latency.
Picoseconds Demands::send_abroad(CoreId from, std::span<const std::int32_t> receivers,
                                 std::int64_t bytes, ResourceSums& sums) const {
  std::vector<CoreId> to;
  for (const std::int32_t core : receivers) {
    to.push_back({core});
  }
  Picoseconds longest{0};
  for (const Path& path : network_.paths(from, to)) {
    add_path(path, bytes, sums);
    longest = std::max(longest, path.latency);
  }
  return longest;
}

/// Whether one tree, or one way, reaches all receivers.
bool Demands::on_one_chip(CoreId from, std::span<const std::int32_t> receivers) const {
  const bool one =
      chip_.interconnect.multicast || (receivers.size() == 1 && receivers.front() != from.value);
  const std::int64_t chip = from.value / chip_.core.count;
  return one && (chip_.chips == 1 ||
                 std::all_of(receivers.begin(), receivers.end(),
                             [&](std::int32_t core) { return core / chip_.core.count == chip; }));
}

/// The SRAM ports of a sender and its receivers.
void Demands::count_ports(CoreId from, std::span<const std::int32_t> receivers, std::int64_t bytes,
                          ResourceSums& sums) const {
  if (!network_.blocks()) {
    return;
  }
  sums.amount[network_.sram_port(from).index()] += bytes;
  for (const std::int32_t core : receivers) {
    sums.amount[network_.sram_port({core}).index()] += core != from.value ? bytes : 0;
  }
}

Demand Demands::of(const program::Loading& loading, std::int32_t weight) {
  ResourceSums sums{.amount = amount_, .tail = {}, .about = {}};
  sums.touch({kMemory, kSram, kLink, kSend, kReceive, kEntry});
  count_memory(loading, weight, sums);
  std::vector<std::int64_t> of_core(static_cast<std::size_t>(network_.cores()), 0);
  for (const program::LoadingPiece& piece : loading.pieces) {
    for (const std::int32_t core : piece.cores) {
      of_core[static_cast<std::size_t>(core)] += piece.bytes;
      sums.about.received.value += piece.bytes;
    }
  }
  sums.about.busiest = {*std::max_element(of_core.begin(), of_core.end())};
  if (network_.lines().routed()) {
    count_ways(loading, sums);
  } else {
    count_core_ports(loading, of_core, sums);
    sums.about.hop_bytes = sums.about.received;
  }
  return pack(sums);
}

/// The ports through which cores receive, or send what is stored, and their SRAM ports.
void Demands::count_core_ports(const program::Loading& loading,
                               std::span<const std::int64_t> bytes_of, ResourceSums& sums) const {
  const bool out = !loading.pieces.empty() && loading.pieces.front().operand < 0;
  for (std::size_t c = 0; c < bytes_of.size(); ++c) {
    const auto core = id_at<CoreId>(c);
    const ResourceId port = out ? network_.send_port(core) : network_.receive_port(core);
    sums.amount[port.index()] += bytes_of[c];
    sums.amount[network_.sram_port(core).index()] +=
        chip_.core.remote_access_blocks ? bytes_of[c] : 0;
  }
}

/// On a grid every module sends or takes its share of every piece through one of the nodes that it
/// is attached to, which share the pieces of an operand evenly (`chip::entry_nodes`).
void Demands::count_ways(const program::Loading& loading, ResourceSums& sums) {
  const std::int64_t modules = network_.modules() / chip_.chips;
  for (const auto& [key, like] : load_ways(loading, chip_.interconnect.multicast)) {
    const std::vector<std::vector<std::int32_t>> nodes = way_nodes(like, chip_);
    for (std::size_t k = 0; k < like.size(); ++k) {
      const std::int64_t bytes = ceil_div(like[k].bytes, modules);
      trees_.aim(like[k].cores);
      for (std::size_t m = 0; m < nodes.size(); ++m) {
        const auto module = id_at<ModuleId>(subscript(key.second * modules) + m);
        const MachineNetwork::ModuleEntry entry = network_.entry(module, nodes[m][k]);
        if (key.first < 0) {
          store(like[k].cores.front(), entry, bytes, sums);
          continue;
        }
        sums.amount[entry.link.index()] += bytes;
        sums.about.hop_bytes.value += bytes * trees_.add(entry.core, entry.turn, bytes);
      }
      count_blocked(like[k].cores, bytes * modules, sums);
    }
  }
  trees_.settle(sums.amount);
}

/// From a core out of the grid.
void Demands::store(std::int32_t core, const MachineNetwork::ModuleEntry& to, std::int64_t bytes,
                    ResourceSums& sums) {
  trees_.aim(std::span(&to.core.value, 1));
  sums.amount[to.out.index()] += bytes;
  sums.about.hop_bytes.value += bytes * trees_.add({core}, to.back, bytes);
}

/// The SRAM ports of cores.
void Demands::count_blocked(std::span<const std::int32_t> cores, std::int64_t bytes,
                            ResourceSums& sums) const {
  for (const std::int32_t core : cores) {
    sums.amount[network_.sram_port({core}).index()] += network_.blocks() ? bytes : 0;
  }
}

/// On a grid a port is no link of the grid: what passes through the busiest holds up the others.
Demand Demands::of(const program::CollectiveSteps& crossing,
                   const program::CollectiveMoves& collective) {
  ResourceSums sums{.amount = amount_, .tail = {}, .about = {}};
  sums.touch({kSend, kReceive, kIn, kOut});
  const auto ports = static_cast<std::int64_t>(collective.ports.size());
  std::int64_t chip = crossing.chip;
  for (const std::int32_t core : collective.ports) {
    if (!network_.lines().routed()) {
      sums.amount[network_.send_port({core}).index()] = crossing.port;
      sums.amount[network_.receive_port({core}).index()] = crossing.port;
    }
  }
  if (network_.lines().routed()) {
    const double slowest =
        static_cast<double>(crossing.port) * chip_.inter_chip->rate / chip_.interconnect.link_rate;
    chip = std::max(chip, static_cast<std::int64_t>(std::ceil(slowest)));
  }
  sums.amount[network_.chip_out(0).index()] = chip;
  sums.amount[network_.chip_in(0).index()] = chip;
  sums.about.busiest = {crossing.port};
  sums.about.most_received = {crossing.port};
  sums.about.received = {crossing.port * ports};
  sums.about.hop_bytes = sums.about.received;
  sums.about.chip_bytes = {crossing.sent};
  sums.about.crosses = true;
  sums.about.latency = to_latency(chip_.inter_chip->latency) * collective.links;
  return pack(sums);
}

void Demands::count_memory(const program::Loading& loading, std::int32_t weight,
                           ResourceSums& sums) const {
  const std::int64_t modules = network_.modules() / chip_.chips;
  for (std::size_t chip = 0; chip < loading.hbm_bytes.size(); ++chip) {
    sums.about.stream.value = std::max(sums.about.stream.value, loading.hbm_bytes[chip]);
    sums.about.hbm.value += loading.hbm_bytes[chip];
    for (std::int64_t m = 0; m < modules; ++m) {
      const auto number = (static_cast<std::int64_t>(chip) * modules) + m;
      const auto module = id_at<ModuleId>(static_cast<std::size_t>(number));
      sums.amount[network_.memory(module).index()] =
          ceil_div(loading.hbm_bytes[chip] * weight, modules);
    }
  }
}

Demand Demands::of(std::span<const program::Tiles> tiles, std::span<const Picoseconds> alone) {
  ResourceSums sums{.amount = amount_, .tail = {}, .about = {}};
  sums.touch({kSram});
  sums.computes = true;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    for (const std::int32_t core : tiles[i].cores) {
      sums.amount[network_.sram_port({core}).index()] = alone[i].value;
    }
  }
  return pack(sums);
}

/// Puts equal resources together, and leaves no amounts behind.
Demand Demands::pack(ResourceSums& sums) const {
  Demand out = fidelity_ == Fidelity::Symmetric ? fold(sums, ranges_, network_.machine())
                                                : list(sums, network_.machine());
  for (const ResourceRange& range : ranges_) {
    if (sums.touched[subscript(range.type)]) {
      std::fill(sums.amount.begin() + static_cast<std::ptrdiff_t>(range.begin),
                sums.amount.begin() + static_cast<std::ptrdiff_t>(range.end), 0);
    }
  }
  return out;
}

Demand beside(const Demand& a, const Demand& b) {
  Demand out = b;
  out.latency = std::max(a.latency, b.latency);
  out.received += a.received;
  const auto more = static_cast<std::int32_t>(b.kinds.size()) - 1;
  for (std::size_t r = 0; r < out.kind_of.size(); ++r) {
    out.kind_of[r] = a.kind_of[r] > 0 ? a.kind_of[r] + more : out.kind_of[r];
  }
  out.kinds.insert(out.kinds.end(), a.kinds.begin() + 1, a.kinds.end());
  return out;
}

}  // namespace elk::sim
