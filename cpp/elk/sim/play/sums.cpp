#include "elk/sim/play/sums.hpp"

#include <algorithm>
#include <map>

#include "elk/base/ids.hpp"

namespace elk::sim {
namespace {

/// Of the ports of a core, or of the links and ports beside it.
void set_types(const MachineNetwork& network, CoreId core, std::vector<Purpose>& purposes) {
  const chip::Network& lines = network.lines();
  purposes[network.sram_port(core).index()] = Purpose::Sram;
  if (!lines.routed()) {
    purposes[network.send_port(core).index()] = Purpose::Send;
    purposes[network.receive_port(core).index()] = Purpose::Receive;
  }
  for (std::size_t dim = 0; dim < lines.dims(); ++dim) {
    const std::int32_t link = chip::Network::first_link(dim);
    const bool ports = lines.full(dim);
    purposes[network.link(core, link).index()] = ports ? Purpose::Send : Purpose::Link;
    purposes[network.link(core, link + 1).index()] = ports ? Purpose::Receive : Purpose::Link;
  }
  if (network.has_node_ports()) {
    purposes[network.port_in(core).index()] = Purpose::Port;
    purposes[network.port_out(core).index()] = Purpose::Port;
  }
}

}  // namespace

std::vector<Purpose> purposes_of(const MachineNetwork& network, const chip::Chip& chip) {
  std::vector<Purpose> purposes(network.machine().resources.size(), Purpose::ModuleEntry);
  for (std::int64_t c = 0; c < network.cores(); ++c) {
    set_types(network, id_at<CoreId>(subscript(c)), purposes);
  }
  for (std::int64_t m = 0; m < network.modules(); ++m) {
    purposes[network.memory(id_at<ModuleId>(subscript(m))).index()] = Purpose::Memory;
  }
  for (std::int64_t c = 0; c < chip.chips && chip.inter_chip; ++c) {
    purposes[network.chip_out(c).index()] = Purpose::Out;
    purposes[network.chip_in(c).index()] = Purpose::In;
    for (std::int32_t link = 0; link < kLinksOfChip; ++link) {
      purposes[network.chip_link(c, link).index()] = Purpose::Between;
    }
  }
  return purposes;
}

std::vector<ResourceRange> ranges_of(std::span<const Purpose> purposes) {
  std::vector<ResourceRange> ranges;
  for (std::size_t r = 0; r < purposes.size(); ++r) {
    if (ranges.empty() || ranges.back().purpose != purposes[r]) {
      ranges.push_back({.purpose = purposes[r], .resources = {.begin = r, .end = r}});
    }
    ranges.back().resources.end = r + 1;
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
  std::vector<ResourceLoad> most(kPurposes, kNothing);
  for (const ResourceRange& range : ranges) {
    if (!sums.touched[static_cast<std::size_t>(range.purpose)]) {
      continue;
    }
    ResourceLoad& load = most[static_cast<std::size_t>(range.purpose)];
    for (std::size_t r = range.resources.begin; r < range.resources.end; ++r) {
      load.amount = std::max(load.amount, sums.amount[r]);
    }
    for (std::size_t r = range.resources.begin; r < range.resources.end && !sums.tail.empty();
         ++r) {
      load.tail = std::max(load.tail, sums.tail[r]);
    }
    load.rate = machine.resources[range.resources.end - 1].capacity;
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
