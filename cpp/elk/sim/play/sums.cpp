#include "elk/sim/play/sums.hpp"

#include <algorithm>
#include <map>

namespace elk::sim {
namespace {

/// Of the ports of a core, or of the links and ports beside it.
void set_types(const MachineNetwork& network, CoreId core, std::vector<std::int32_t>& types) {
  const chip::Network& lines = network.lines();
  types[network.sram_port(core).index()] = kSram;
  if (!lines.routed()) {
    types[network.send_port(core).index()] = kSend;
    types[network.receive_port(core).index()] = kReceive;
  }
  for (std::size_t dim = 0; dim < lines.dims(); ++dim) {
    const std::int32_t link = chip::Network::first_link(dim);
    const bool ports = lines.full(dim);
    types[network.link(core, link).index()] = ports ? kSend : kLink;
    types[network.link(core, link + 1).index()] = ports ? kReceive : kLink;
  }
  if (network.has_node_ports()) {
    types[network.port_in(core).index()] = kPort;
    types[network.port_out(core).index()] = kPort;
  }
}

}  // namespace

std::vector<std::int32_t> types_of(const MachineNetwork& network, const chip::Chip& chip) {
  std::vector<std::int32_t> types(network.machine().resources.size(), kEntry);
  for (std::int64_t c = 0; c < network.cores(); ++c) {
    set_types(network, id_at<CoreId>(subscript(c)), types);
  }
  for (std::int64_t m = 0; m < network.modules(); ++m) {
    types[network.memory(id_at<ModuleId>(subscript(m))).index()] = kMemory;
  }
  for (std::int64_t c = 0; c < chip.chips && chip.inter_chip; ++c) {
    types[network.chip_out(c).index()] = kOut;
    types[network.chip_in(c).index()] = kIn;
    for (std::int32_t link = 0; link < kLinksOfChip; ++link) {
      types[network.chip_link(c, link).index()] = kBetween;
    }
  }
  return types;
}

std::vector<ResourceRange> ranges_of(std::span<const std::int32_t> types) {
  std::vector<ResourceRange> ranges;
  for (std::size_t r = 0; r < types.size(); ++r) {
    if (ranges.empty() || ranges.back().type != types[r]) {
      ranges.push_back({.type = types[r], .begin = r, .end = r});
    }
    ranges.back().end = r + 1;
  }
  return ranges;
}

Demand list(const ResourceSums& sums, const Machine& machine) {
  Demand out = sums.about;
  out.kinds.push_back(kNothing);
  std::map<ResourceLoad, std::int32_t> known;
  const std::vector<Resource>& resources = machine.resources;
  out.kind_of.reserve(resources.size());
  ResourceLoad last{};
  std::int32_t number = 0;
  for (std::size_t r = 0; r < resources.size(); ++r) {
    if (sums.amount[r] == 0) {
      out.kind_of.push_back(0);
      continue;
    }
    const ResourceLoad load{.amount = sums.amount[r],
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

Demand fold(const ResourceSums& sums, std::span<const ResourceRange> ranges,
            const Machine& machine) {
  Demand out = sums.about;
  std::vector<ResourceLoad> most(kTypes, kNothing);
  for (const ResourceRange& range : ranges) {
    if (!sums.touched[subscript(range.type)]) {
      continue;
    }
    ResourceLoad& load = most[subscript(range.type)];
    for (std::size_t r = range.begin; r < range.end; ++r) {
      load.amount = std::max(load.amount, sums.amount[r]);
    }
    for (std::size_t r = range.begin; r < range.end && !sums.tail.empty(); ++r) {
      load.tail = std::max(load.tail, sums.tail[r]);
    }
    load.rate = machine.resources[range.end - 1].capacity;
    load.computes = sums.computes;
  }
  out.kinds.push_back(kNothing);
  for (const ResourceLoad& load : most) {
    out.kind_of.push_back(load.amount > 0 ? static_cast<std::int32_t>(out.kinds.size()) : 0);
    if (load.amount > 0) {
      out.kinds.push_back(load);
    }
  }
  return out;
}

}  // namespace elk::sim
