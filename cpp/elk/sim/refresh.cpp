/// How the engine finds shares anew where something changed.
#include <algorithm>

#include "elk/sim/engine.hpp"
#include "elk/sim/subscript.hpp"

namespace elk::sim {

/// From now on `id` moves at `share`.
void Engine::set_share(std::int32_t id, Share share) {
  Item& moving = item(id);
  const bool fresh = moving.since == now_;
  if (share == moving.share && !fresh) {
    return;
  }
  if (!fresh) {
    moving.left -= moved(moving.share, now_ - moving.since);
    moving.since = now_;
  }
  moving.share = share;
  const Picoseconds time = time_to_move(moving.left, share);
  if (time == kBeyondTime) {
    agenda_.remove(id);  // Until it gets a larger share.
  } else {
    agenda_.set(id, now_ + time);
  }
}

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
  if (!memories_.empty()) {
    set_refresh_timer();
  }
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

/// Passes on to computations and the meter that the flows of `resource` may have changed.
void Engine::settle(ResourceId resource) {
  if (!node(resource).computes.empty()) {
    pace_computes(node(resource));
  }
  if (meter_) {
    report(resource);
  }
}

/// A resource that nothing crosses, or one flow that meets no other, needs no search.
bool Engine::refresh_lone(ResourceId resource) {
  Node& lone = node(resource);
  if (lone.flows.size() > 1) {
    return false;
  }
  if (lone.flows.empty()) {
    lone.stamp = stamp_;
    settle(resource);
    return true;
  }
  const std::int32_t id = lone.flows.front().item;
  const Item& flow = item(id);
  Share share{flow.cap, 1};
  for (std::int32_t h = flow.first_use; h < flow.first_use + flow.use_count; ++h) {
    const Use use = held_[subscript(h)].use;
    const Node& crossed = node(use.resource);
    if (crossed.flows.size() > 1) {
      return false;
    }
    const Wide most = capacity(crossed);
    const bool first = h == flow.first_use && flow.cap == 0;
    if (use.weight == 1 && share.den == 1) {
      share.num = first ? most : std::min(most, share.num);
    } else if (first || most * share.den < share.num * use.weight) {
      share = split(most, use.weight);
    }
  }
  set_share(id, share);
  for (std::int32_t h = flow.first_use; h < flow.first_use + flow.use_count; ++h) {
    const ResourceId crossed = held_[subscript(h)].use.resource;
    node(crossed).stamp = stamp_;
    settle(crossed);
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
  std::size_t searched = 0;
  while (searched < part_nodes_.size()) {  // It grows as flows lead on.
    const std::vector<Crossing>& flows = node(part_nodes_[searched++]).flows;
    for (const Crossing crossing : flows) {
      Item& flow = item(crossing.item);
      if (flow.stamp == stamp_) {
        continue;
      }
      flow.stamp = stamp_;
      part_flows_.push_back(crossing.item);
      part_.cap.push_back(flow.cap);
      for (std::int32_t h = flow.first_use; h < flow.first_use + flow.use_count; ++h) {
        const Use use = held_[subscript(h)].use;
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
    settle(resource);
  }
}

/// Computations get what flows leave of the port.
void Engine::pace_computes(const Node& port) {
  const Wide idle = std::max(port.capacity - load(port), Wide{0});
  for (const std::int32_t id : port.computes) {
    set_share(id, {idle, 1});
  }
}

void Engine::report(ResourceId resource) {
  if (!meter_->records(resource.value)) {
    return;
  }
  Node& changed = node(resource);
  const Wide before = changed.load;
  if (before > 0) {
    meter_->add(resource.value, before, changed.loaded, now_);
  }
  changed.load = load(changed);
  changed.loaded = now_;
  if ((before > 0) != (changed.load > 0)) {
    meter_->turn(resource.value, changed.load > 0 ? 1 : -1, now_);
  }
}

std::vector<Usage> Engine::usage() {
  if (!meter_) {
    return {};
  }
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    report(id_at<ResourceId>(n));
  }
  return meter_->usage(now_);
}

/// What flows move through a resource.
Wide Engine::load(const Node& resource) const {
  Wide sum = 0;
  for (const Crossing crossing : resource.flows) {
    const Share& share = items_[subscript(crossing.item)].share;
    sum += share.num * held_[subscript(crossing.held)].use.weight / share.den;
  }
  return sum;
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
