/// How the engine finds shares anew where something changed.
#include <algorithm>

#include "elk/base/errors.hpp"
#include "elk/sim/engine.hpp"

namespace elk::sim {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace

void Engine::refresh() {
  if (!dirty_.empty()) {
    refresh_flows();
  }
  for (const ResourceId port : stale_) {
    node(port).stale = false;
    pace_computes(node(port));
  }
  stale_.clear();
}

void Engine::refresh_flows() {
  set_refresh_timer();
  ++stamp_;
  for (const ResourceId resource : dirty_) {
    node(resource).dirty = false;
    if (node(resource).stamp == stamp_ || refresh_lone(resource)) {
      continue;
    }
    gather(resource);
    apply_part();
  }
  dirty_.clear();
}

/// A resource that nothing crosses, or one flow that meets no other, needs no search.
bool Engine::refresh_lone(ResourceId resource) {
  Node& lone = node(resource);
  if (lone.flows.size() > 1) {
    return false;
  }
  if (lone.flows.empty()) {
    lone.stamp = stamp_;
    pace_computes(lone);
    return true;
  }
  const std::int32_t id = lone.flows.front().item;
  const Item& flow = item(id);
  Share share{flow.cap, 1};
  for (std::int32_t h = flow.first_use; h < flow.first_use + flow.use_count; ++h) {
    const Use use = held_[at(h)].use;
    const Node& crossed = node(use.resource);
    if (crossed.flows.size() > 1) {
      return false;
    }
    const Wide most = capacity(crossed);
    if ((h == flow.first_use && flow.cap == 0) || most * share.den < share.num * use.weight) {
      share = use.weight == 1 ? Share{most, 1} : split(most, use.weight);
    }
  }
  set_share(id, share);
  for (std::int32_t h = flow.first_use; h < flow.first_use + flow.use_count; ++h) {
    Node& crossed = node(held_[at(h)].use.resource);
    crossed.stamp = stamp_;
    pace_computes(crossed);
  }
  return true;
}

/// The flows and resources that `resource` is connected with, into `part_`.
void Engine::gather(ResourceId resource) {
  part_.clear();
  part_nodes_.clear();
  part_flows_.clear();
  const auto meet = [&](ResourceId met) {
    Node& crossed = node(met);
    if (crossed.stamp != stamp_) {
      crossed.stamp = stamp_;
      crossed.local = static_cast<std::int32_t>(part_nodes_.size());
      part_nodes_.push_back(met);
      part_.capacity.push_back(capacity(crossed));
    }
    return crossed.local;
  };
  meet(resource);
  part_.begin.push_back(0);
  for (std::size_t n = 0; n < part_nodes_.size(); ++n) {
    const std::vector<Crossing>& flows = node(part_nodes_[n]).flows;
    for (const Crossing crossing : flows) {
      Item& flow = item(crossing.item);
      if (flow.stamp == stamp_) {
        continue;
      }
      flow.stamp = stamp_;
      part_flows_.push_back(crossing.item);
      part_.cap.push_back(flow.cap);
      for (std::int32_t h = flow.first_use; h < flow.first_use + flow.use_count; ++h) {
        const Use use = held_[at(h)].use;
        part_.uses.push_back({{meet(use.resource)}, use.weight});
      }
      part_.begin.push_back(static_cast<std::int32_t>(part_.uses.size()));
    }
  }
}

void Engine::apply_part() {
  fair_shares(part_, scratch_, part_shares_);
  for (std::size_t f = 0; f < part_flows_.size(); ++f) {
    set_share(part_flows_[f], part_shares_[f]);
  }
  for (const ResourceId resource : part_nodes_) {
    pace_computes(node(resource));
  }
}

/// Computations get what flows leave of the port.
void Engine::pace_computes(Node& port) {
  if (port.computes.empty()) {
    return;
  }
  Wide idle = port.capacity;
  for (const Crossing crossing : port.flows) {
    const Share share = item(crossing.item).share;
    idle -= share.num * held_[at(crossing.held)].use.weight / share.den;
  }
  for (const std::int32_t id : port.computes) {
    set_share(id, {std::max(idle, Wide{0}), 1});
  }
}

Wide Engine::capacity(const Node& resource) const {
  if (!resource.refreshes) {
    return resource.capacity;
  }
  const Phase now = phase();
  if (now.stands) {
    return 0;
  }
  return now.fresh ? resource.capacity : resource.sustained;
}

Engine::Phase Engine::phase() const {
  if (refresh_.interval == Picoseconds{0}) {
    const bool fresh = now_ < refresh_.fresh;
    return {.stands = false, .fresh = fresh, .ends = fresh ? refresh_.fresh : Picoseconds{0}};
  }
  const Picoseconds since{now_.value % refresh_.interval.value};
  const Picoseconds begin = now_ - since;
  const Picoseconds stall = begin > Picoseconds{0} ? refresh_.stall : Picoseconds{0};
  if (since < stall) {
    return {.stands = true, .fresh = false, .ends = begin + stall};
  }
  const Picoseconds fresh = std::min(stall + refresh_.fresh, refresh_.interval);
  if (since < fresh) {
    return {.stands = false, .fresh = true, .ends = begin + fresh};
  }
  return {.stands = false, .fresh = false, .ends = begin + refresh_.interval};
}

/// Has the agenda wake the engine when a refresh next changes capacities, while a flow cares.
void Engine::set_refresh_timer() {
  const Picoseconds ends = memory_flows_ > 0 ? phase().ends : Picoseconds{0};
  if (ends > Picoseconds{0}) {
    agenda_.set(0, ends);
  } else {
    agenda_.remove(0);
  }
}

void Engine::touch_memories() {
  for (const ResourceId resource : memories_) {
    if (!node(resource).flows.empty()) {
      touch(resource);
    }
  }
}

}  // namespace elk::sim
