#include "elk/sim/network/machine_network.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/chip/delivery.hpp"
#include "elk/chip/ways.hpp"

namespace elk::sim {
namespace {

chip::Network chip_lines_of(const chip::Chip& chip) {
  return chip.inter_chip ? chip::network_of_chips(chip.inter_chip->topology, chip.chips)
                         : chip::Network::of_ports(1);
}

/// What a module serves at most: its share of the peak rate, its port, and its channels, each of
/// which waits a latency for what it has asked for.
double module_rate(const chip::Hbm& hbm) {
  double rate = std::min(hbm.rate / static_cast<double>(hbm.modules), hbm.port_rate);
  if (hbm.latency > Seconds{0}) {
    rate = std::min(rate, static_cast<double>(hbm.channels) *
                              static_cast<double>(hbm.outstanding.value) / hbm.latency.value);
  }
  return rate;
}

Refresh refresh_of(const chip::Chip& chip) {
  if (!chip.hbm || chip.hbm->refresh_stall <= Seconds{0} ||
      chip.hbm->refresh_interval <= Seconds{0}) {
    return {.interval = {0}, .stall = {0}, .fresh = {0}};
  }
  return {.interval = to_latency(chip.hbm->refresh_interval),
          .stall = to_latency(chip.hbm->refresh_stall),
          .fresh = {0}};
}

}  // namespace

/// Routes that begin at one place, being gathered into a path.
struct MachineNetwork::Branches {
  std::vector<ResourceId> once;      // loaded once, however many branches pass
  std::vector<std::uint8_t> passed;  // of each resource, whether it is in `once`; of many branches
  std::vector<ResourceUse> each;     // added up
  std::int64_t hops;                 // of the longest branch
  std::int64_t branch;               // of the branch being gathered
  std::vector<std::int64_t> chips;   // other chips that have been reached
  std::vector<chip::Hop> route;
};

MachineNetwork::MachineNetwork(const chip::Chip& chip)
    : lines_(chip::network_of(chip)),
      chip_lines_(chip_lines_of(chip)),
      all_to_all_(!lines_.routed()),
      multicast_(chip.interconnect.multicast),
      blocks_(chip.core.remote_access_blocks),
      node_ports_(chip::routed(chip) && chip.interconnect.node_ports),
      chips_(chip.chips),
      cores_(chip.core.count),
      modules_(chip.hbm ? chip.hbm->modules : 0),
      port_cores_(chip.inter_chip ? chip.inter_chip->port_cores : chip.core.count),
      hop_(to_latency(chip.interconnect.hop_latency)),
      between_(chip.inter_chip ? to_latency(chip.inter_chip->latency) : Picoseconds{0}) {
  machine_.refresh = refresh_of(chip);
  attach(chip);
  for (std::int64_t c = 0; c < chips_; ++c) {
    add_chip(chip);
  }
}

void MachineNetwork::add(std::int64_t count, double rate, bool refreshes) {
  if (count > 0) {
    machine_.resources.insert(
        machine_.resources.end(), static_cast<std::size_t>(count),
        {.capacity = to_rate(rate), .sustained = {0}, .refreshes = refreshes});
  }
}

void MachineNetwork::add_chip(const chip::Chip& chip) {
  const auto here = [first = machine_.resources.size(), this] {
    return static_cast<std::int32_t>(machine_.resources.size() - first);
  };
  const double link = chip.interconnect.link_rate;
  add(cores_, chip.core.sram_rate, false);
  offsets_.links = here();
  add((all_to_all_ ? 2 : lines_.links()) * cores_, link, false);
  offsets_.memories = here();
  if (chip.hbm) {
    add(modules_, module_rate(*chip.hbm) * kHbmWeight, machine_.refresh.stall > Picoseconds{0});
  }
  offsets_.injection = here();
  for (const std::vector<ModuleNode>& nodes : nodes_) {
    add(2 * static_cast<std::int64_t>(nodes.size()), link, false);
  }
  offsets_.between = here();
  if (chip.inter_chip) {
    add(2, chip.inter_chip->rate, false);
    add(kLinksOfChip, chip.inter_chip->rate, false);
  }
  offsets_.ports = here();
  if (node_ports_) {
    add(2 * cores_, link * static_cast<double>(*chip.interconnect.node_ports), false);
  }
  offsets_.end = here();
}

void MachineNetwork::attach(const chip::Chip& chip) {
  std::int32_t link = 0;
  for (const std::vector<CoreId>& cores : chip::attached_cores(chip)) {
    std::vector<ModuleNode>& nodes = nodes_.emplace_back();
    for (const CoreId core : cores) {
      nodes.push_back(
          {.core = CoreId{core.value}, .link = link, .turn = chip::turn_at(chip, core)});
      link += 2;
    }
  }
}

Path MachineNetwork::path(CoreId from, CoreId to) const {
  Branches branches{};
  reach(branches, from, to);
  if (blocks_ || from == to) {
    branches.each.push_back({sram_port(from), 1});
  }
  if (all_to_all_ && from != to) {
    branches.each.push_back({send_port(from), 1});
  }
  if (node_ports_ && from != to) {
    branches.each.push_back({port_in(from), 1});
  }
  return finish(branches);
}

std::vector<Path> MachineNetwork::paths(CoreId from, std::span<const CoreId> to) const {
  std::vector<Path> found;
  if (!multicast_) {
    for (const CoreId core : to) {
      found.push_back(path(from, core));
    }
    return found;
  }
  Branches branches{};
  expect(branches, to.size());
  bool leaves = false;
  for (const CoreId core : to) {
    if (core != from) {
      reach(branches, from, core);
      leaves = true;
    }
  }
  if (blocks_) {
    branches.each.push_back({sram_port(from), 1});
  }
  if (all_to_all_) {
    branches.each.push_back({send_port(from), 1});
  }
  if (node_ports_ && leaves) {
    branches.each.push_back({port_in(from), 1});
  }
  found.push_back(finish(branches));
  return found;
}

std::vector<Path> MachineNetwork::read_paths(ModuleId module, std::span<const CoreId> to,
                                             std::int32_t weight, std::int32_t node) const {
  std::vector<Path> found;
  const std::int64_t chip = module.value / modules_;
  const std::size_t step = multicast_ ? std::max<std::size_t>(1, to.size()) : 1;
  for (std::size_t first = 0; first < to.size(); first += step) {
    const std::span<const CoreId> cores = to.subspan(first, step);
    Branches branches{};
    expect(branches, cores.size());
    branches.each.push_back({memory(module), weight});
    const ModuleNode* through = nullptr;
    if (!all_to_all_) {
      through = &attached(module, node);
      branches.once.push_back(resource(chip, offsets_.injection + through->link));
    }
    for (const CoreId core : cores) {
      branches.branch = 1;  // from the module
      if (all_to_all_) {
        branches.each.push_back({receive_port(core), 1});
      } else {
        route(branches, chip, through->core.value, local(core), through->turn);
      }
      if (node_ports_) {
        branches.each.push_back({port_out(core), 1});
      }
      branches.hops = std::max(branches.hops, branches.branch);
      if (blocks_) {
        branches.each.push_back({sram_port(core), 1});
      }
    }
    found.push_back(finish(branches));
  }
  return found;
}

Path MachineNetwork::write_path(CoreId from, ModuleId module, std::int32_t weight,
                                std::int32_t node) const {
  Branches branches{};
  branches.each.push_back({memory(module), weight});
  branches.branch = 1;  // to the module
  if (all_to_all_) {
    branches.each.push_back({send_port(from), 1});
  } else {
    const ModuleEntry to = entry(module, node);
    branches.once.push_back(to.out);
    route(branches, chip_of(from), local(from), local(to.core), to.back);
  }
  if (node_ports_) {
    branches.each.push_back({port_in(from), 1});
  }
  branches.hops = branches.branch;
  if (blocks_) {
    branches.each.push_back({sram_port(from), 1});
  }
  return finish(branches);
}

ResourceId MachineNetwork::sram_port(CoreId core) const {
  return resource(chip_of(core), local(core));
}

ResourceId MachineNetwork::send_port(CoreId core) const {
  return resource(chip_of(core), offsets_.links + local(core));
}

ResourceId MachineNetwork::receive_port(CoreId core) const {
  return resource(chip_of(core), offsets_.links + cores_ + local(core));
}

ResourceId MachineNetwork::link(CoreId core, std::int32_t link) const {
  return resource(chip_of(core), offsets_.links + (lines_.links() * local(core)) + link);
}

ResourceId MachineNetwork::port_in(CoreId core) const {
  return resource(chip_of(core), offsets_.ports + local(core));
}

ResourceId MachineNetwork::port_out(CoreId core) const {
  return resource(chip_of(core), offsets_.ports + cores_ + local(core));
}

ResourceId MachineNetwork::memory(ModuleId module) const {
  return resource(module.value / modules_, offsets_.memories + (module.value % modules_));
}

ResourceId MachineNetwork::chip_out(std::int64_t chip) const {
  return resource(chip, offsets_.between);
}

ResourceId MachineNetwork::chip_in(std::int64_t chip) const {
  return resource(chip, offsets_.between + 1);
}

ResourceId MachineNetwork::chip_link(std::int64_t chip, std::int32_t link) const {
  return resource(chip, offsets_.between + 2 + link);
}

ResourceId MachineNetwork::resource(std::int64_t chip, std::int64_t offset) const {
  return id_at<ResourceId>(static_cast<std::size_t>((chip * offsets_.end) + offset));
}

std::int64_t MachineNetwork::port_core(std::int64_t core) const {
  return chip::port_core(core, cores_, port_cores_);
}

void MachineNetwork::route(Branches& out, std::int64_t chip, std::int64_t from, std::int64_t to,
                           chip::DimOrder turn) const {
  out.route.clear();
  lines_.way(from, to, turn, out.route);
  for (const chip::Hop& hop : out.route) {
    const ResourceId link = resource(chip, offsets_.links + (lines_.links() * hop.node) + hop.link);
    if (out.passed.empty() || std::exchange(out.passed[link.index()], 1) == 0) {
      out.once.push_back(link);
    }
  }
  const bool ports = lines_.full(0) || lines_.full(1) || lines_.full(2);  // Ports are no hops.
  out.branch += ports ? lines_.hops(from, to) : static_cast<std::int64_t>(out.route.size());
}

void MachineNetwork::route_chips(Branches& out, std::int64_t from, std::int64_t to) const {
  if (std::find(out.chips.begin(), out.chips.end(), to) != out.chips.end()) {
    return;
  }
  out.chips.push_back(to);
  out.each.push_back({chip_out(from), 1});
  out.each.push_back({chip_in(to), 1});
  out.route.clear();
  chip_lines_.way(from, to, chip::DimOrder::RowFirst, out.route);
  for (const chip::Hop& hop : out.route) {
    out.each.push_back({chip_link(hop.node, hop.link), 1});
  }
}

/// Of many branches each link is kept once from the start: they share most of their ways.
void MachineNetwork::expect(Branches& out, std::size_t branches) const {
  constexpr std::size_t kFew = 8;
  if (!all_to_all_ && branches > kFew) {
    out.passed.assign(machine_.resources.size(), 0);
  }
}

/// Adds the way from one core to the ports of another.
void MachineNetwork::reach(Branches& out, CoreId from, CoreId to) const {
  const std::int64_t here = chip_of(from);
  const std::int64_t there = chip_of(to);
  out.branch = 0;
  if (here != there) {
    const std::int64_t port = port_core(local(from));
    if (!all_to_all_) {
      route(out, here, local(from), port);
      route(out, there, port_core(local(to)), local(to));
    }
    route_chips(out, here, there);
  } else if (!all_to_all_) {
    route(out, here, local(from), local(to));
  }
  if (all_to_all_ && from != to) {
    out.branch = 1;
    out.each.push_back({receive_port(to), 1});
  }
  if (blocks_ || from == to) {
    out.each.push_back({sram_port(to), 1});
  }
  if (node_ports_ && from != to) {
    out.each.push_back({port_out(to), 1});
  }
  out.hops = std::max(out.hops, out.branch);
}

MachineNetwork::ModuleEntry MachineNetwork::entry(ModuleId module, std::int32_t node) const {
  const std::int64_t chip = module.value / modules_;
  const ModuleNode& through = attached(module, node);
  return {.core = id_at<CoreId>(static_cast<std::size_t>((chip * cores_) + through.core.value)),
          .link = resource(chip, offsets_.injection + through.link),
          .turn = through.turn,
          .out = resource(chip, offsets_.injection + through.link + 1),
          .back = through.turn == chip::DimOrder::RowFirst ? chip::DimOrder::ColumnFirst
                                                           : chip::DimOrder::RowFirst};
}

std::int32_t MachineNetwork::nodes_of(ModuleId module) const {
  return static_cast<std::int32_t>(nodes_[subscript(module.value % modules_)].size());
}

const MachineNetwork::ModuleNode& MachineNetwork::attached(ModuleId module,
                                                           std::int32_t node) const {
  const auto index = static_cast<std::size_t>(module.value % modules_);
  return nodes_[index][static_cast<std::size_t>(node)];
}

Path MachineNetwork::finish(Branches& branches) const {
  std::sort(branches.once.begin(), branches.once.end());
  branches.once.erase(std::unique(branches.once.begin(), branches.once.end()), branches.once.end());
  for (const ResourceId link : branches.once) {
    branches.each.push_back({link, 1});
  }
  std::sort(branches.each.begin(), branches.each.end());
  Path path{.uses = {}, .latency = {0}, .hops = branches.hops};
  for (const ResourceUse& use : branches.each) {
    if (!path.uses.empty() && path.uses.back().resource == use.resource) {
      path.uses.back().weight += use.weight;
    } else {
      path.uses.push_back(use);
    }
  }
  const Picoseconds on_chip = all_to_all_ ? Picoseconds{0} : hop_ * branches.hops;
  path.latency = on_chip + (branches.chips.empty() ? Picoseconds{0} : between_);
  return path;
}

}  // namespace elk::sim
