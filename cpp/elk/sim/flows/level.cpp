/// How the engine finds shares anew where a glance suffices.
///
/// A resource gives each of its flows its *level* if nothing else holds one of them back: its
/// capacity by the weight of its flows. If every flow takes the least level of its resources, and
/// at one with that level all flows do so, then that one is full and nobody there has more: the
/// shares are the max-min fair ones, and those that progressive filling finds. To see it takes a
/// look at the flows that cross a resource where something changed, not at all that these are
/// connected with. Where it does not hold the engine repairs the shares (repair.cpp).
#include <algorithm>

#include "elk/base/ids.hpp"
#include "elk/sim/flows/engine.hpp"
#include "elk/sim/flows/sim_tuning.hpp"

namespace elk::sim {
namespace {

bool slower(const FairShare& a, const FairShare& b) {
  return a.den == b.den ? a.num < b.num : a.num * b.den < b.num * a.den;
}

}  // namespace

void Engine::refresh_flows() {
  if (!memories_.empty()) {
    set_refresh_timer();
  }
  if (unlisted_.size() > tuning::kFewFlows + (2 * static_cast<std::size_t>(streaming_))) {
    list_flows();
  }
  if (dirty_.size() == 1 && refresh_lone(dirty_.front())) {
    entered_.clear();
    dirty_.clear();
    return;
  }
  ++stamp_;
  opened_.clear();
  part_nodes_.clear();
  part_.clear();
  part_.begin.push_back(0);
  const bool known = std::any_of(dirty_.begin(), dirty_.end(),
                                 [&](ResourceId resource) { return node(resource).repaired; });
  if (known) {
    open_dirty();
    repair();
  } else {
    find_affected();
    find_levels();
    if (doubtful_) {
      ++stamp_;
      for (const std::int32_t id : affected_) {
        open(id);
      }
      repair();
    } else {
      apply_affected();
    }
  }
  entered_.clear();
  dirty_.clear();
}

/// Tells resources which flows cross them. Most flows have left before anybody asks.
void Engine::list_flows() {
  for (const FlowCrossing& flow : unlisted_) {
    if (item(flow.item).number != flow.number) {
      continue;
    }
    for (const ResourceUse& use : uses_of(item(flow.item))) {
      Node& crossed = node(use.resource);
      crossed.crossings.push_back({flow.number, flow.item, use.weight});
    }
  }
  unlisted_.clear();
}

/// Forgets the flows that have left `crossed`.
void Engine::drop_left(Node& crossed) const {
  const auto left = [&](const FlowCrossing& crossing) {
    return items_[subscript(crossing.item)].number != crossing.number;
  };
  crossed.crossings.erase(std::remove_if(crossed.crossings.begin(), crossed.crossings.end(), left),
                          crossed.crossings.end());
}

/// The crossings of `crossed`, not many more than it has flows.
const std::vector<Engine::FlowCrossing>& Engine::listed(Node& crossed) {
  list_flows();
  if (crossed.crossings.size() > tuning::kFewFlows + (2 * subscript(crossed.flows))) {
    drop_left(crossed);
  }
  return crossed.crossings;
}

/// Nothing or one new flow on the one resource where something changed: it takes what there is.
bool Engine::refresh_lone(ResourceId resource) {
  Node& lone = node(resource);
  if (lone.flows != lone.fresh || lone.flows > 1 || lone.repaired) {
    return false;
  }
  if (lone.flows == 1) {
    set_level(resource);
    if (!lone.even) {
      return false;
    }
    const Rate cap = item(entered_.front()).cap;
    const bool capped = cap > Rate{0} && slower({grains(cap), 1}, lone.level);
    lone.bound = capped ? 0 : lone.weight;
    set_share(entered_.front(), capped ? FairShare{grains(cap), 1} : lone.level);
  }
  lone.fresh = 0;
  lone.dirty = false;
  if (computations_ > 0) {
    pace_computes(resource);
  }
  return true;
}

/// The flows that cross a dirty resource.
void Engine::find_affected() {
  affected_.clear();
  for (const std::int32_t id : entered_) {
    affect(id);
  }
  for (const ResourceId resource : dirty_) {
    Node& dirty = node(resource);
    if (dirty.flows > 0) {
      set_level(resource);
      dirty.bound = 0;
      if (dirty.fresh < dirty.flows) {
        for (const FlowCrossing& crossing : listed(dirty)) {
          if (item(crossing.item).number == crossing.number) {
            affect(crossing.item);
          }
        }
      }
    }
    dirty.fresh = 0;
  }
}

void Engine::affect(std::int32_t id) {
  if (item(id).stamp < stamp_) {
    item(id).stamp = stamp_;
    affected_.push_back(id);
  }
}

void Engine::set_level(ResourceId resource) {
  Node& levelled = node(resource);
  if (levelled.level_weight == levelled.weight && !levelled.refreshes) {
    return;
  }
  const Wide given = capacity(resource);
  levelled.level = split(given, levelled.weight);
  levelled.level_weight = levelled.weight;
  levelled.even = levelled.level.num * levelled.weight == given * levelled.level.den;
}

/// The least level of each affected flow, and whether one may not be its share.
void Engine::find_levels() {
  levels_.clear();
  doubtful_ = false;
  for (const std::int32_t id : affected_) {
    const Item& flow = item(id);
    const std::span<const ResourceUse> crossed = uses_of(flow);
    const FairShare own{grains(flow.cap), 1};
    const FairShare* least = flow.cap > Rate{0} ? &own : &node(crossed.front().resource).level;
    for (const ResourceUse& use : crossed) {
      const Node& on = node(use.resource);
      doubtful_ = doubtful_ || !on.even || on.repaired;
      least = slower(on.level, *least) ? &on.level : least;
    }
    levels_.push_back(*least);
    rebind(flow, *least);
  }
  for (std::size_t a = 0; a < affected_.size() && !doubtful_; ++a) {
    doubtful_ = !bound(item(affected_[a]), levels_[a]);
  }
}

/// `flow` is about to get `share`. A resource that bound all of its flows and now loses one may
/// leave others with less than they can have.
void Engine::rebind(const Item& flow, const FairShare& share) {
  for (const ResourceUse& use : uses_of(flow)) {
    Node& on = node(use.resource);
    if (on.dirty) {
      on.bound += on.level == share ? use.weight : 0;
      continue;
    }
    if (share == flow.share) {
      continue;
    }
    if (on.level == flow.share) {
      doubtful_ = doubtful_ || on.bound == on.weight;
      on.bound -= use.weight;
    }
    on.bound += on.level == share ? use.weight : 0;
  }
}

/// Whether something keeps `flow` at `share`: its cap, or a resource that does so to all its flows.
bool Engine::bound(const Item& flow, const FairShare& share) const {
  if (flow.cap > Rate{0} && share == FairShare{grains(flow.cap), 1}) {
    return true;
  }
  const std::span<const ResourceUse> crossed = uses_of(flow);
  return std::any_of(crossed.begin(), crossed.end(), [&](const ResourceUse& use) {
    const Node& on = nodes_[use.resource.index()];
    return on.bound == on.weight && on.level == share;
  });
}

/// Gives the affected flows their levels.
void Engine::apply_affected() {
  const bool computing = computations_ > 0;
  for (std::size_t a = 0; a < affected_.size(); ++a) {
    const std::int32_t id = affected_[a];
    const bool changed = item(id).share != levels_[a];
    set_share(id, levels_[a]);
    if (computing && changed) {
      for (const ResourceUse& use : uses_of(item(id))) {
        pace_computes(use.resource);
      }
    }
  }
  for (const ResourceId resource : dirty_) {
    node(resource).dirty = false;
    if (computing) {
      pace_computes(resource);
    }
  }
}

}  // namespace elk::sim
