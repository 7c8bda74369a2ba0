#include "elk/sim/demand.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/chip/ways.hpp"
#include "elk/sim/trees.hpp"

namespace elk::sim {
namespace {

/// What resources of one kind are for.
constexpr std::int32_t kSram = 0;
constexpr std::int32_t kReceive = 1;
constexpr std::int32_t kSend = 2;
constexpr std::int32_t kLink = 3;
constexpr std::int32_t kMemory = 4;
constexpr std::int32_t kOut = 5;
constexpr std::int32_t kIn = 6;
constexpr std::int32_t kOther = 7;
constexpr std::int32_t kTypes = 8;

CoreId core_id(std::int64_t core) { return id_at<CoreId>(static_cast<std::size_t>(core)); }

/// What goes to or comes from one core or, with multicast, goes to all cores of a piece.
struct Way {
  std::int64_t bytes;
  std::vector<CoreId> cores;
};

/// By operand and chip.
std::map<std::pair<std::int32_t, std::int32_t>, std::vector<Way>> ways_of(
    const program::Loading& loading, bool multicast) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<Way>> ways;
  for (const program::LoadPiece& piece : loading.pieces) {
    std::vector<Way>& like = ways[{piece.operand, piece.chip}];
    for (const std::int32_t core : piece.cores) {
      if (core == piece.cores.front() || !multicast) {
        like.push_back({.bytes = piece.bytes, .cores = {}});
      }
      like.back().cores.push_back({core});
    }
  }
  return ways;
}

/// The node of every module that each way starts from or ends at, as chip::entry_nodes has them.
std::vector<std::vector<std::int32_t>> entry_nodes_of(const std::vector<Way>& ways,
                                                      const chip::Chip& chip) {
  std::vector<CoreId> middles;  // of each way's cores, on their chip
  std::vector<CoreId> all;
  for (const Way& way : ways) {
    middles.push_back(core_id(way.cores[way.cores.size() / 2].value % chip.core.count));
    for (const CoreId core : way.cores) {
      all.push_back(core_id(core.value % chip.core.count));
    }
  }
  return chip::entry_nodes(chip, middles, chip::area_of(chip, all));
}

std::vector<std::int32_t> types_of(const Network& network, const chip::Chip& chip) {
  std::vector<std::int32_t> types(network.machine().resources.size(), kOther);
  for (std::int64_t c = 0; c < network.cores(); ++c) {
    types[network.sram_port(core_id(c)).index()] = kSram;
    if (!chip::is_mesh(chip)) {
      types[network.send_port(core_id(c)).index()] = kSend;
      types[network.receive_port(core_id(c)).index()] = kReceive;
      continue;
    }
    for (const Direction direction : kDirections) {
      types[network.link(core_id(c), direction).index()] = kLink;
    }
  }
  for (std::int64_t m = 0; m < network.modules(); ++m) {
    types[network.memory(id_at<ModuleId>(static_cast<std::size_t>(m))).index()] = kMemory;
  }
  for (std::int64_t c = 0; c < chip.chips && chip.inter_chip; ++c) {
    types[network.chip_out(c).index()] = kOut;
    types[network.chip_in(c).index()] = kIn;
  }
  return types;
}

}  // namespace

/// What is being counted, resource by resource.
struct Demands::Sums {
  std::vector<std::int64_t> amount;
  std::vector<Picoseconds> tail;
  Demand about;
  bool computes = false;
};

Demands::Demands(const chip::Chip& chip, Fidelity fidelity)
    : chip_(chip),
      fidelity_(fidelity),
      network_(chip),
      type_of_(types_of(network_, chip)),
      fragment_(to_latency(chip.interconnect.fragment_latency)) {}

Demand Demands::nothing() const {
  return pack({.amount = std::vector<std::int64_t>(type_of_.size(), 0), .tail = {}, .about = {}});
}

Demand Demands::of(const program::Exchange& exchange) const {
  Sums sums{.amount = std::vector<std::int64_t>(type_of_.size(), 0), .tail = {}, .about = {}};
  const program::Traffic traffic = program::traffic(exchange, chip_);
  sums.about.busiest = {program::busiest(traffic)};
  for (const std::int64_t bytes : traffic.received) {
    sums.about.received.value += bytes;
    sums.about.most_received.value = std::max(sums.about.most_received.value, bytes);
  }
  std::int64_t most = 0;
  sums.tail.assign(type_of_.size(), Picoseconds{0});
  for (std::int64_t c = 0; c < network_.cores(); ++c) {
    const auto core = static_cast<std::size_t>(c);
    most = std::max(most, traffic.fragments[core]);
    if (!chip::is_mesh(chip_)) {
      const ResourceId receive = network_.receive_port(core_id(c));
      sums.amount[receive.index()] = traffic.received[core];
      sums.tail[receive.index()] = fragment_ * traffic.fragments[core];
      sums.amount[network_.send_port(core_id(c)).index()] = traffic.sent[core];
    }
  }
  for (std::int64_t c = 0; c < chip_.chips && chip_.inter_chip; ++c) {
    const auto chip = static_cast<std::size_t>(c);
    sums.amount[network_.chip_in(c).index()] = traffic.chip_in[chip];
    sums.amount[network_.chip_out(c).index()] = traffic.chip_out[chip];
    sums.about.chip_bytes.value += traffic.chip_in[chip];
    sums.about.crosses = sums.about.crosses || traffic.chip_in[chip] > 0;
  }
  sums.about.hop_bytes = sums.about.received;
  if (sums.about.crosses) {
    sums.about.latency = to_latency(chip_.inter_chip->latency);
  }
  if (chip::is_mesh(chip_)) {
    count_links(exchange, sums);
    sums.about.latency += fragment_ * most;
  }
  return pack(sums);
}

void Demands::add_path(const Path& path, std::int64_t bytes, Sums& sums) const {
  for (const Use& use : path.uses) {
    const std::int32_t type = type_of_[use.resource.index()];
    if (type == kOut || type == kIn || type == kMemory) {
      continue;  // Counted once for each chip, and for each byte that is read.
    }
    sums.amount[use.resource.index()] += bytes * use.weight;
    sums.about.hop_bytes.value += type == kLink ? bytes : 0;
  }
}

/// On a grid every send takes its way over links.
void Demands::count_links(const program::Exchange& exchange, Sums& sums) const {
  Trees trees(network_);
  std::vector<CoreId> receivers;
  program::Cores senders;
  std::int64_t turn = 0;
  Picoseconds longest{0};
  sums.about.hop_bytes = {0};
  program::for_each_send(exchange, chip_, [&](const program::Send& send) {
    receivers.clear();
    for (const std::int32_t core : send.receivers) {
      receivers.push_back({core});
    }
    program::sources(send, network_.cores(), turn, senders);
    const std::int64_t bytes = ceil_div(send.bytes, static_cast<std::int64_t>(senders.size()));
    for (const std::int32_t sender : senders) {
      const CoreId from{sender};
      if (on_one_chip(from, receivers)) {
        sums.about.hop_bytes.value +=
            bytes * trees.add(from, receivers, Turn::RowFirst, bytes, sums.amount);
        count_ports(from, receivers, bytes, sums);
        continue;
      }
      for (const Path& path : network_.paths(from, receivers)) {
        add_path(path, bytes, sums);
        longest = std::max(longest, path.latency);
      }
    }
  });
  longest = std::max(longest, network_.hop_latency() * trees.longest());
  sums.about.latency = std::max(sums.about.latency, longest);
}

/// Whether one tree, or one way, reaches all receivers.
bool Demands::on_one_chip(CoreId from, std::span<const CoreId> receivers) const {
  return (chip_.interconnect.multicast || (receivers.size() == 1 && receivers[0] != from)) &&
         std::all_of(receivers.begin(), receivers.end(), [&](CoreId core) {
           return core.value / chip_.core.count == from.value / chip_.core.count;
         });
}

/// The SRAM ports of a sender and its receivers.
void Demands::count_ports(CoreId from, std::span<const CoreId> receivers, std::int64_t bytes,
                          Sums& sums) const {
  if (!network_.blocks()) {
    return;
  }
  sums.amount[network_.sram_port(from).index()] += bytes;
  for (const CoreId core : receivers) {
    sums.amount[network_.sram_port(core).index()] += core != from ? bytes : 0;
  }
}

Demand Demands::of(const program::Loading& loading, std::int32_t weight) const {
  Sums sums{.amount = std::vector<std::int64_t>(type_of_.size(), 0), .tail = {}, .about = {}};
  count_memory(loading, weight, sums);
  std::vector<std::int64_t> of_core(static_cast<std::size_t>(network_.cores()), 0);
  for (const program::LoadPiece& piece : loading.pieces) {
    for (const std::int32_t core : piece.cores) {
      of_core[static_cast<std::size_t>(core)] += piece.bytes;
      sums.about.received.value += piece.bytes;
    }
  }
  sums.about.busiest = {*std::max_element(of_core.begin(), of_core.end())};
  if (chip::is_mesh(chip_)) {
    count_ways(loading, sums);
  } else {
    count_core_ports(loading, of_core, sums);
    sums.about.hop_bytes = sums.about.received;
  }
  return pack(sums);
}

/// The ports through which cores receive, or send what is stored, and their SRAM ports.
void Demands::count_core_ports(const program::Loading& loading,
                               std::span<const std::int64_t> bytes_of, Sums& sums) const {
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
void Demands::count_ways(const program::Loading& loading, Sums& sums) const {
  const std::int64_t modules = network_.modules() / chip_.chips;
  Trees trees(network_);
  for (const auto& [key, like] : ways_of(loading, chip_.interconnect.multicast)) {
    const std::vector<std::vector<std::int32_t>> nodes = entry_nodes_of(like, chip_);
    for (std::size_t m = 0; m < nodes.size(); ++m) {
      const auto module = id_at<ModuleId>(subscript(key.second * modules) + m);
      for (std::size_t k = 0; k < like.size(); ++k) {
        const std::int64_t bytes = ceil_div(like[k].bytes, modules);
        if (key.first < 0) {
          add_path(network_.write_path(like[k].cores.front(), module, 1, nodes[m][k]), bytes, sums);
        } else {
          deliver(network_.entry(module, nodes[m][k]), like[k].cores, bytes, trees, sums);
        }
      }
    }
  }
}

/// From an entry into the grid to cores.
void Demands::deliver(const Network::Entry& entry, std::span<const CoreId> cores,
                      std::int64_t bytes, Trees& trees, Sums& sums) const {
  sums.amount[entry.link.index()] += bytes;
  sums.about.hop_bytes.value +=
      bytes * trees.add(entry.core, cores, entry.turn, bytes, sums.amount);
  for (const CoreId core : cores) {
    sums.amount[network_.sram_port(core).index()] += network_.blocks() ? bytes : 0;
  }
}

/// On a grid a port is no link of the grid: what passes through the busiest holds up the others.
Demand Demands::of(const program::Crossing& crossing, const program::Collective& collective) const {
  Sums sums{.amount = std::vector<std::int64_t>(type_of_.size(), 0), .tail = {}, .about = {}};
  const auto ports = static_cast<std::int64_t>(collective.ports.size());
  std::int64_t chip = crossing.chip;
  for (const std::int32_t core : collective.ports) {
    if (!chip::is_mesh(chip_)) {
      sums.amount[network_.send_port({core}).index()] = crossing.port;
      sums.amount[network_.receive_port({core}).index()] = crossing.port;
    }
  }
  if (chip::is_mesh(chip_)) {
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

void Demands::count_memory(const program::Loading& loading, std::int32_t weight, Sums& sums) const {
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

Demand Demands::of(std::span<const program::Tiles> tiles,
                   std::span<const Picoseconds> alone) const {
  Sums sums{.amount = std::vector<std::int64_t>(type_of_.size(), 0), .tail = {}, .about = {}};
  sums.computes = true;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    for (const std::int32_t core : tiles[i].cores) {
      sums.amount[network_.sram_port({core}).index()] = alone[i].value;
    }
  }
  return pack(sums);
}

Demand Demands::pack(const Sums& sums) const {
  if (fidelity_ == Fidelity::Symmetric) {
    return fold(sums);
  }
  Demand out = sums.about;
  out.kinds.push_back({.amount = 0, .tail = {0}, .rate = {1}, .computes = false});
  std::map<Load, std::int32_t> known;
  const std::vector<Resource>& resources = network_.machine().resources;
  out.kind_of.reserve(resources.size());
  Load last{};
  std::int32_t number = 0;
  for (std::size_t r = 0; r < resources.size(); ++r) {
    if (sums.amount[r] == 0) {
      out.kind_of.push_back(0);
      continue;
    }
    const Load load{.amount = sums.amount[r],
                    .tail = sums.tail.empty() ? Picoseconds{0} : sums.tail[r],
                    .rate = resources[r].capacity,
                    .computes = sums.computes};
    if (load != last) {
      last = load;
      const auto [found, is_new] =
          known.try_emplace(load, static_cast<std::int32_t>(out.kinds.size()));
      number = found->second;
      if (is_new) {
        out.kinds.push_back(load);
      }
    }
    out.kind_of.push_back(number);
  }
  return out;
}

/// One resource of every type, loaded as the busiest of them.
Demand Demands::fold(const Sums& sums) const {
  Demand out = sums.about;
  std::vector<Load> most(kTypes, {.amount = 0, .tail = {0}, .rate = {1}, .computes = false});
  const std::vector<Resource>& resources = network_.machine().resources;
  for (std::size_t r = 0; r < resources.size(); ++r) {
    Load& load = most[static_cast<std::size_t>(type_of_[r])];
    load.amount = std::max(load.amount, sums.amount[r]);
    load.tail = sums.tail.empty() ? load.tail : std::max(load.tail, sums.tail[r]);
    load.rate = resources[r].capacity;
    load.computes = sums.computes;
  }
  out.kinds.push_back({.amount = 0, .tail = {0}, .rate = {1}, .computes = false});
  for (const Load& load : most) {
    out.kind_of.push_back(load.amount > 0 ? static_cast<std::int32_t>(out.kinds.size()) : 0);
    if (load.amount > 0) {
      out.kinds.push_back(load);
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
