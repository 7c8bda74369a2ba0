#include "elk/sim/tasks/stage_bodies.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/program/expand/transfers.hpp"
#include "elk/sim/play/load_ways.hpp"

namespace elk::sim {
namespace {

/// The senders of what a send brings, equal parts from each. Of a box that lies in equal shares on
/// all cores these are as many as on a grid (`program::sources`); off grids, where nobody is near,
/// all cores take turns, so that no send port has more to do than others.
void find_senders(const program::Send& send, const MachineNetwork& network, std::int64_t& turn,
                  program::Cores& senders) {
  const std::int64_t before = turn;
  program::sources(send, network.cores(), turn, senders);
  if (send.core >= 0 || network.lines().routed()) {
    return;
  }
  for (std::size_t i = 0; i < senders.size(); ++i) {
    const std::int64_t number = before + static_cast<std::int64_t>(i);
    senders[i] = static_cast<std::int32_t>(number % network.cores());
  }
}

}  // namespace

Body StageBodies::of(const Stage& stage, const program::Execution& execution) const {
  Body body;
  add_calls(stage.demand(), body);
  const StageSends& origin = stage.origin;
  switch (origin.sending) {
    case SendKind::Nothing:
      break;
    case SendKind::Distribute:
      add_sends(execution.distribute, origin.lag, body);
      break;
    case SendKind::Gather:
      add_sends(execution.gather, origin.lag, body);
      break;
    case SendKind::Shift:
      for (const std::size_t i : origin.numbers) {
        add_sends(execution.rotations[i].exchange, origin.lag, body);
      }
      break;
    case SendKind::Crossing:
      add_ports(stage.demand(), body);
      break;
    case SendKind::Deliver:
      add_sends(execution.collective->deliver, origin.lag, body);
      break;
    case SendKind::Round:
      add_sends(execution.reduce[origin.numbers.front()].exchange, origin.lag, body);
      break;
  }
  return body;
}

/// The tile calls of each core.
void StageBodies::add_calls(const Demand& demand, Body& body) const {
  for (std::size_t r = 0; r < demand.kind_of.size(); ++r) {
    const ResourceLoad& load = demand.kinds[subscript(demand.kind_of[r])];
    if (load.computes && load.amount > 0) {
      body.compute(id_at<ResourceId>(r), {load.amount});
    }
  }
}

/// A step of a collective's link phase: what each port and each way between chips has to carry.
void StageBodies::add_ports(const Demand& demand, Body& body) const {
  for (std::size_t r = 0; r < demand.kind_of.size(); ++r) {
    const ResourceLoad& load = demand.kinds[subscript(demand.kind_of[r])];
    if (!load.computes && load.amount > 0) {
      const std::array<ResourceUse, 1> port{{{id_at<ResourceId>(r), 1}}};
      body.send({load.amount}, load.tail + demand.latency, port);
    }
  }
}

/// A receiver is done when its last send has arrived and its fragments are in place, so that the
/// tail of a send is that of the receiver with the most fragments.
void StageBodies::add_sends(const program::Exchange& exchange, Picoseconds lag, Body& body) const {
  program::PortTraffic traffic = program::no_sends(exchange, chip_);
  const program::VisitReceivers ignore = [](std::int64_t, std::span<const std::int32_t>) {};
  program::for_each_send(exchange, chip_, [&](const program::Send& send) {
    program::add_send(send, chip_, ignore, traffic);
  });
  const Picoseconds fragment = to_latency(chip_.interconnect.fragment_latency);
  program::Cores senders;
  std::int64_t turn = 0;
  std::vector<CoreId> receivers;
  program::for_each_send(exchange, chip_, [&](const program::Send& send) {
    std::int64_t fragments = 0;
    receivers.clear();
    for (const std::int32_t core : send.receivers) {
      receivers.push_back({core});
      fragments = std::max(fragments, traffic.fragments[subscript(core)]);
    }
    find_senders(send, network_, turn, senders);
    const std::int64_t bytes = ceil_div(send.bytes, static_cast<std::int64_t>(senders.size()));
    for (const std::int32_t sender : senders) {
      if (receivers.size() == 1 && receivers.front().value == sender) {
        continue;  // The core's own share of what lies on all cores is there.
      }
      for (const Path& path : network_.paths({sender}, receivers)) {
        body.send({bytes}, path.latency + (fragment * fragments) + lag, path.uses);
      }
    }
  });
}

Body StageBodies::of(const program::Loading& loading, std::int32_t weight) const {
  Body body;
  const std::int64_t modules = network_.modules() / chip_.chips;
  std::vector<CoreId> receivers;
  for (const auto& [key, ways] : load_ways(loading, chip_.interconnect.multicast)) {
    const std::vector<std::vector<std::int32_t>> nodes = way_nodes(ways, chip_);
    for (std::size_t w = 0; w < ways.size(); ++w) {
      receivers.clear();
      for (const std::int32_t core : ways[w].cores) {
        receivers.push_back({core});
      }
      const Bytes bytes{ceil_div(ways[w].bytes, modules)};
      for (std::size_t m = 0; m < subscript(modules); ++m) {
        const auto module = id_at<ModuleId>(subscript(key.second * modules) + m);
        const std::int32_t node = nodes.empty() || nodes[m].empty() ? 0 : nodes[m][w];
        if (key.first < 0) {
          const Path path = network_.write_path(receivers.front(), module, weight, node);
          body.send(bytes, path.latency, path.uses);
          continue;
        }
        for (const Path& path : network_.read_paths(module, receivers, weight, node)) {
          body.send(bytes, path.latency, path.uses);
        }
      }
    }
  }
  return body;
}

}  // namespace elk::sim
