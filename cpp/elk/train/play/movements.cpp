#include "elk/train/play/movements.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "elk/sim/flows/share.hpp"
#include "elk/sim/network/hbm.hpp"

namespace elk::train {

std::vector<DeviceSend> around(const DeviceGroups& groups) {
  std::vector<DeviceSend> sends;
  for (const std::vector<CoreId>& group : groups) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      sends.push_back({.from = group[i], .to = group[(i + 1) % group.size()]});
    }
  }
  return sends;
}

Movements::Movements(const chip::Chip& chip, const sim::MachineNetwork& network)
    : chip_(chip), network_(network), readers_(subscript(network.modules()), 0) {}

sim::Body Movements::sending(std::span<const DeviceSend> sends, Bytes bytes) const {
  sim::Body body;
  for (const DeviceSend& send : sends) {
    if (send.from != send.to) {
      const sim::Path path = network_.path(send.from, send.to);
      body.send(bytes, path.latency, path.uses);
    }
  }
  return body;
}

Picoseconds Movements::sync(std::span<const DeviceSend> sends) const {
  const bool leaves = std::ranges::any_of(sends, [this](const DeviceSend& send) {
    return send.from.value / network_.cores_of_chip() != send.to.value / network_.cores_of_chip();
  });
  return sim::to_latency(leaves ? chip_.inter_chip->sync_latency : chip_.interconnect.sync_latency);
}

void Movements::add_memory(CoreId device, DramTraffic traffic, sim::Body& body) {
  if (traffic.read <= Bytes{0} && traffic.written <= Bytes{0}) {
    return;
  }
  const auto& [module, node] = nearest(device);
  const Picoseconds latency = sim::to_latency(chip_.hbm->latency);
  if (traffic.read > Bytes{0}) {
    const sim::Path path = network_.read_paths(module, {&device, 1}, sim::kHbmWeight, node).front();
    body.send(traffic.read, path.latency + latency, path.uses);
  }
  if (traffic.written > Bytes{0}) {
    const sim::Path path = network_.write_path(device, module, sim::kHbmWeight, node);
    body.send(traffic.written, path.latency + latency, path.uses);
  }
}

/// The module whose node is the fewest links away; of several the one that fewest use so far.
const Movements::NearestModule& Movements::nearest(CoreId device) {
  const auto [found, is_new] = nearest_.try_emplace(device, NearestModule{});
  if (!is_new) {
    return found->second;
  }
  const std::int64_t modules = network_.modules() / network_.chips();
  const std::int64_t first = device.value / network_.cores_of_chip() * modules;
  std::pair<std::int64_t, std::int64_t> best{std::numeric_limits<std::int64_t>::max(), 0};
  for (std::int64_t m = first; m < first + modules; ++m) {
    const auto module = id_at<sim::ModuleId>(m);
    const std::int32_t nodes = network_.lines().routed() ? network_.nodes_of(module) : 1;
    for (std::int32_t node = 0; node < nodes; ++node) {
      const std::pair here{hops(module, node, device), readers_[module.index()]};
      if (here < best) {
        best = here;
        found->second = {.module = module, .node = node};
      }
    }
  }
  ++readers_[found->second.module.index()];
  return found->second;
}

std::int64_t Movements::hops(sim::ModuleId module, std::int32_t node, CoreId device) const {
  if (!network_.lines().routed()) {
    return 0;
  }
  const std::int64_t cores = network_.cores_of_chip();
  return network_.lines().hops(network_.entry(module, node).core.value % cores,
                               device.value % cores);
}

}  // namespace elk::train
