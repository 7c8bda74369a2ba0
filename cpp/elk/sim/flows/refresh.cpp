/// How the engine finds shares anew where something changed.
#include <algorithm>

#include "elk/base/ids.hpp"
#include "elk/sim/flows/engine.hpp"

namespace elk::sim {

/// From now on `id` moves at `share`.
void Engine::set_share(std::int32_t id, FairShare share) {
  Item& moving = item(id);
  const bool fresh = moving.since == now_;
  if (share == moving.share && !fresh) {
    return;
  }
  if (!fresh) {
    moving.left -= moved(moving.share, now_ - moving.since);
    moving.since = now_;
  }
  if (moving.kind == EventKind::FlowEnd) {
    for (const ResourceUse& use : uses_of(moving)) {
      node(use.resource).used +=
          (share.num * use.weight / share.den) - (moving.share.num * use.weight / moving.share.den);
    }
  }
  moving.share = share;
  if (moving.left != timed_left_ || share != timed_share_) {
    timed_left_ = moving.left;
    timed_share_ = share;
    timed_ = time_to_move(moving.left, share);
  }
  const Picoseconds time = timed_;
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
    pace_computes(port);
  }
  stale_.clear();
}

/// Computations get what flows leave of the port.
void Engine::pace_computes(ResourceId port) {
  const Wide idle = std::max(sides_[port.index()].capacity - node(port).used, Wide{0});
  for (const std::int32_t id : sides_[port.index()].computes) {
    set_share(id, {idle, 1});
  }
}

Wide Engine::capacity(ResourceId resource) const {
  const ResourceDetail& asked = sides_[resource.index()];
  if (!nodes_[resource.index()].refreshes) {
    return asked.capacity;
  }
  const RefreshPhase now = phase();
  if (now.stands) {
    return 0;
  }
  return now.fresh ? asked.capacity : asked.sustained;
}

Engine::RefreshPhase Engine::phase() const {
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
    if (node(resource).flows > 0) {
      touch(resource);
    }
  }
}

}  // namespace elk::sim
