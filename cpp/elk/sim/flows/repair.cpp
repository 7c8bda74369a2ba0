/// How the engine finds shares anew where a glance at levels does not suffice.
///
/// Shares are max-min fair if, and only if, each flow is *held*: by its cap, or by a resource that
/// is full and on which no flow has a larger share (Bertsekas and Gallager, Data Networks, 1992,
/// section 6.5.2). So when flows come and go, the engine opens those that came and those that
/// something held which changed, fills what the others leave, and looks which flows are no longer
/// held: it opens these too, and those that took more of a full resource than an opened flow got,
/// until all are held. What a share is follows from the flows with less on the resource that holds
/// it, so that all this ends at the shares that filling the whole machine gives.
#include <algorithm>

#include "elk/base/ids.hpp"
#include "elk/sim/flows/engine.hpp"
#include "elk/sim/flows/sim_tuning.hpp"

namespace elk::sim {
namespace {

bool smaller(const FairShare& a, const FairShare& b) {
  return a.den == b.den ? a.num < b.num : a.num * b.den < b.num * a.den;
}

Wide taken(const FairShare& share, std::int32_t weight) { return share.num * weight / share.den; }

}  // namespace

/// Opens the flows that came, and those that a dirty resource held.
void Engine::open_dirty() {
  for (const std::int32_t id : entered_) {
    open(id);
  }
  for (const ResourceId resource : dirty_) {
    Node& dirty = node(resource);
    const bool all = !dirty.repaired || dirty.refreshes;
    if (dirty.fresh == dirty.flows || (!all && !dirty.full)) {
      continue;
    }
    for (const FlowCrossing& crossing : listed(dirty)) {
      const Item& flow = item(crossing.item);
      if (flow.number == crossing.number && (all || flow.share == dirty.top)) {
        open(crossing.item);
      }
    }
  }
}

/// Makes a resource one of the part that is repaired.
void Engine::meet(ResourceId resource) {
  Node& met = node(resource);
  if (met.stamp != stamp_) {
    met.stamp = stamp_;
    met.local = static_cast<std::int32_t>(part_nodes_.size());
    part_nodes_.push_back(resource);
    part_.capacity.push_back(capacity(resource) - met.used);
  }
}

/// Makes a flow one of those that get a share anew: what it takes now is left for all of them.
void Engine::open(std::int32_t id) {
  Item& flow = item(id);
  if (flow.stamp == stamp_) {
    return;
  }
  flow.stamp = stamp_;
  flow.place = static_cast<std::int32_t>(opened_.size());
  opened_.push_back(id);
  part_.cap.push_back(grains(flow.cap));
  for (const ResourceUse& use : uses_of(flow)) {
    meet(use.resource);
    const std::int32_t local = node(use.resource).local;
    part_.capacity[subscript(local)] += taken(flow.share, use.weight);
    part_.uses.push_back({ResourceId{local}, use.weight});
  }
  part_.begin.push_back(static_cast<std::int32_t>(part_.uses.size()));
}

/// Opens all that is connected with what is open.
void Engine::open_connected() {
  for (std::size_t r = 0; r < part_nodes_.size(); ++r) {  // The part grows as flows lead on.
    for (const FlowCrossing& crossing : listed(node(part_nodes_[r]))) {
      if (item(crossing.item).number == crossing.number) {
        open(crossing.item);
      }
    }
  }
}

void Engine::repair() {
  for (const ResourceId resource : dirty_) {
    meet(resource);
  }
  fill_opened();
  bool whole = false;
  for (int round = 0; !whole; ++round) {
    const std::size_t before = opened_.size();
    if (!open_unheld()) {
      break;
    }
    whole = round == tuning::kMostRounds || opened_.size() == before ||
            2 * opened_.size() > static_cast<std::size_t>(streaming_);
    if (whole) {
      open_connected();
    }
    fill_opened();
  }
  apply_opened();
}

/// Shares of opened flows in what the others leave them, and what that makes of each resource.
void Engine::fill_opened() {
  fair_shares(part_, scratch_, part_shares_);
  weighed_.assign(part_nodes_.size(), {.top = {0, 1}, .full = false});
  slack_ = part_.capacity;
  for (std::size_t f = 0; f < opened_.size(); ++f) {
    for (std::int32_t u = part_.begin[f]; u < part_.begin[f + 1]; ++u) {
      const ResourceUse& use = part_.uses[subscript(u)];
      slack_[use.resource.index()] -= taken(part_shares_[f], use.weight);
    }
  }
  for (std::size_t r = 0; r < part_nodes_.size(); ++r) {
    Node& met = node(part_nodes_[r]);
    // Of a full resource less than a grain is left for each flow and each unit of weight.
    if (met.flows > 0 && slack_[r] <= met.weight + met.flows) {
      weighed_[r] = weigh(part_nodes_[r]);
    }
  }
}

/// The largest share on a resource, and whether that is what the flows with less leave to each of
/// those that have it.
Engine::ResourceShare Engine::weigh(ResourceId resource) {
  FairShare top{0, 1};
  std::int64_t weight = 0;
  Wide at_top = 0;
  Wide all = 0;
  for (const FlowCrossing& crossing : listed(node(resource))) {
    if (item(crossing.item).number != crossing.number) {
      continue;
    }
    const FairShare share = share_now(crossing.item);
    const Wide takes = taken(share, crossing.weight);
    all += takes;
    if (smaller(top, share)) {
      top = share;
      weight = 0;
      at_top = 0;
    }
    if (share == top) {
      weight += crossing.weight;
      at_top += takes;
    }
  }
  const bool full = weight > 0 && top == split(capacity(resource) - (all - at_top), weight);
  return {.top = top, .full = full};
}

FairShare Engine::share_now(std::int32_t id) const {
  const Item& flow = items_[subscript(id)];
  const bool filled = flow.stamp == stamp_ && subscript(flow.place) < part_shares_.size();
  return filled ? part_shares_[subscript(flow.place)] : flow.share;
}

/// Whether something keeps a flow at its share.
bool Engine::held(std::int32_t id) const {
  const Item& flow = items_[subscript(id)];
  const FairShare share = share_now(id);
  if (flow.cap > Rate{0} && share == FairShare{grains(flow.cap), 1}) {
    return true;
  }
  const std::span<const ResourceUse> crossed = uses_of(flow);
  return std::any_of(crossed.begin(), crossed.end(), [&](const ResourceUse& use) {
    const Node& on = nodes_[use.resource.index()];
    if (on.stamp == stamp_ && subscript(on.local) < weighed_.size()) {
      const ResourceShare& weighed = weighed_[subscript(on.local)];
      return weighed.full && weighed.top == share;
    }
    return on.repaired ? on.full && on.top == share : on.bound == on.weight && on.level == share;
  });
}

/// Opens flows that nothing holds any more, and those that took more than an opened flow that
/// nothing holds. Whether there were any.
bool Engine::open_unheld() {
  const std::size_t filled = opened_.size();
  bool unheld = false;
  for (std::size_t r = 0; r < weighed_.size(); ++r) {
    const Node& met = node(part_nodes_[r]);
    const bool holds = weighed_[r].full && weighed_[r].top == met.top;
    if (met.flows > 0 && (!met.repaired || (met.full && !holds))) {
      open_unheld_on(part_nodes_[r]);
    }
  }
  unheld = opened_.size() > filled;
  for (std::size_t f = 0; f < filled; ++f) {
    if (!held(opened_[f])) {
      unheld = true;
      open_above(opened_[f]);
    }
  }
  return unheld;
}

/// Opens the flows that a resource held, and nothing does now.
void Engine::open_unheld_on(ResourceId resource) {
  Node& met = node(resource);
  for (const FlowCrossing& crossing : listed(met)) {
    const Item& flow = item(crossing.item);
    if (flow.number == crossing.number && flow.stamp != stamp_ &&
        (!met.repaired || flow.share == met.top) && !held(crossing.item)) {
      open(crossing.item);
    }
  }
}

/// Opens those that have more than an opened flow got, where that is because of them.
void Engine::open_above(std::int32_t id) {
  const FairShare share = share_now(id);
  for (std::int32_t u = item(id).first_use; u < item(id).first_use + item(id).use_count; ++u) {
    const ResourceId resource = held_[subscript(u)].resource;
    const std::size_t local = subscript(node(resource).local);
    if (local >= weighed_.size() || !smaller(share, weighed_[local].top)) {
      continue;
    }
    for (const FlowCrossing& crossing : listed(node(resource))) {
      const Item& other = item(crossing.item);
      if (other.number == crossing.number && other.stamp != stamp_ && smaller(share, other.share)) {
        open(crossing.item);
      }
    }
  }
}

/// Gives opened flows their shares, and passes on what changed.
void Engine::apply_opened() {
  for (std::size_t f = 0; f < opened_.size(); ++f) {
    set_share(opened_[f], part_shares_[f]);
  }
  const bool computing = computations_ > 0;
  for (std::size_t r = 0; r < part_nodes_.size(); ++r) {
    Node& met = node(part_nodes_[r]);
    met.repaired = met.flows > 0;
    met.top = weighed_[r].top;
    met.full = weighed_[r].full;
    met.dirty = false;
    met.fresh = 0;
    if (computing) {
      pace_computes(part_nodes_[r]);
    }
  }
}

}  // namespace elk::sim
