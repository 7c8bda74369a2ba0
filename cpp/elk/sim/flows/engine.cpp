#include "elk/sim/flows/engine.hpp"

#include <algorithm>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/text.hpp"

namespace elk::sim {
namespace {

constexpr std::int32_t kRefreshItem = 0;  // the first item keeps the time of refreshes

}  // namespace

Engine::Engine(const Machine& machine) : refresh_(machine.refresh) {
  if (refresh_.interval < Picoseconds{0} || refresh_.stall < Picoseconds{0} ||
      refresh_.fresh < Picoseconds{0} ||
      (refresh_.interval > Picoseconds{0} && refresh_.stall >= refresh_.interval)) {
    throw InvalidInput(text("a refresh must stall for less than its interval of ",
                            refresh_.interval.value, " ps, got ", refresh_.stall.value, " ps"));
  }
  nodes_.reserve(machine.resources.size());
  sides_.reserve(machine.resources.size());
  for (const Resource& resource : machine.resources) {
    if (resource.capacity <= Rate{0}) {
      throw InvalidInput(
          text("a capacity must be positive, got ", resource.capacity.value, " bytes/s"));
    }
    nodes_.push_back({.level = {0, 1},
                      .level_weight = 0,
                      .weight = 0,
                      .bound = 0,
                      .used = 0,
                      .top = {0, 1},
                      .carried = {0},
                      .crossings = {},
                      .stamp = 0,
                      .flows = 0,
                      .fresh = 0,
                      .local = 0,
                      .refreshes = resource.refreshes,
                      .even = true,
                      .dirty = false,
                      .stale = false,
                      .repaired = false,
                      .full = false});
    sides_.push_back(
        {.capacity = grains(resource.capacity),
         .sustained = grains(resource.sustained > Rate{0} ? resource.sustained : resource.capacity),
         .computes = {}});
    if (nodes_.back().refreshes) {
      memories_.push_back(id_at<ResourceId>(nodes_.size() - 1));
    }
  }
  new_item(EventKind::Timer, 0);
}

void Engine::start(const Flow& flow, Picoseconds when) {
  if (flow.bytes < Bytes{0} || flow.bytes.value > kMostFlowBytes) {
    throw InvalidInput(
        text("the bytes of a flow must be from 0 to ", kMostFlowBytes, ", got ", flow.bytes.value));
  }
  const std::int32_t id = new_item(EventKind::FlowEnd, flow.tag);
  Item& made = item(id);
  made.left = grains(flow.bytes);
  made.bytes = flow.bytes;
  made.cap = flow.cap;
  made.latency = flow.latency;
  hold(made, flow.uses);
  made.state = ItemState::Waiting;
  begin(id, when);
}

void Engine::start(const Computation& compute, Picoseconds when) {
  Wide work = 0;
  if (compute.alone < Picoseconds{0} ||
      __builtin_mul_overflow(sides_[compute.port.index()].capacity, Wide{compute.alone.value},
                             &work)) {
    throw InvalidInput(text("a computation must take from 0 ps to the range of simulated time, ",
                            "got ", compute.alone.value, " ps"));
  }
  const std::int32_t id = new_item(EventKind::ComputeEnd, compute.tag);
  const ResourceUse use{compute.port, 1};
  Item& made = item(id);
  made.left = work;
  hold(made, {&use, 1});
  made.state = ItemState::Waiting;
  begin(id, when);
}

void Engine::start_timer(Tag tag, Picoseconds when) {
  if (when < now_) {
    throw InternalError(
        text("sim: a timer at ", when.value, " ps, when it is ", now_.value, " ps"));
  }
  const std::int32_t id = new_item(EventKind::Timer, tag);
  item(id).state = ItemState::Timing;
  agenda_.set(id, when);
}

void Engine::begin(std::int32_t id, Picoseconds when) {
  if (when < now_) {
    throw InternalError(
        text("sim: a start at ", when.value, " ps, when it is ", now_.value, " ps"));
  }
  if (when == now_) {
    enter(id);
  } else {
    agenda_.set(id, when);
  }
}

std::span<const Event> Engine::next() {
  events_.clear();
  while (events_.empty()) {
    refresh();
    if (agenda_.empty()) {
      if (free_items_.size() + 1 < items_.size()) {
        throw InvalidInput("what is under way must end within 26 days of simulated time");
      }
      return {};
    }
    now_ = agenda_.first_time();
    while (!agenda_.empty() && agenda_.first_time() == now_) {
      due_.clear();
      agenda_.take_first(due_);
      for (const std::int32_t id : due_) {
        due(id);
      }
    }
  }
  if (!std::is_sorted(events_.begin(), events_.end())) {
    std::sort(events_.begin(), events_.end());
  }
  return events_;
}

Bytes Engine::carried(ResourceId resource) const { return nodes_[resource.index()].carried; }

std::int32_t Engine::new_item(EventKind kind, Tag tag) {
  auto id = static_cast<std::int32_t>(items_.size());
  if (free_items_.empty()) {
    items_.emplace_back();
  } else {
    id = free_items_.back();
    free_items_.pop_back();
  }
  Item& made = item(id);  // Whoever starts it fills in the rest.
  made.tag = tag;
  made.kind = kind;
  made.use_count = 0;
  made.share = {0, 1};
  return id;
}

void Engine::free_item(std::int32_t id) {
  item(id).state = ItemState::Free;
  free_items_.push_back(id);
}

/// Copies `uses` into the block of `held_` that `made` has from its last use, or a larger one.
void Engine::hold(Item& made, std::span<const ResourceUse> uses) {
  made.use_count = static_cast<std::int32_t>(uses.size());
  if (made.use_count > made.use_room) {
    enlarge(made);
  }
  std::copy(uses.begin(), uses.end(), held_.data() + made.first_use);
}

void Engine::enlarge(Item& made) {
  const std::size_t size = subscript(made.use_count);
  if (size >= free_held_.size()) {
    free_held_.resize(size + 1);
  }
  if (made.use_room > 0) {
    free_held_[subscript(made.use_room)].push_back(made.first_use);
  }
  made.use_room = made.use_count;
  if (std::vector<std::int32_t>& blocks = free_held_[size]; !blocks.empty()) {
    made.first_use = blocks.back();
    blocks.pop_back();
    return;
  }
  made.first_use = static_cast<std::int32_t>(held_.size());
  held_.resize(held_.size() + size);
}

/// Puts an item that starts now on its resources.
void Engine::enter(std::int32_t id) {
  Item& entering = item(id);
  entering.since = now_;
  if (entering.kind == EventKind::ComputeEnd) {
    enter_compute(id);
    return;
  }
  if (entering.left == 0) {
    entering.state = ItemState::Arriving;
    agenda_.set(id, now_ + entering.latency);
    return;
  }
  if (entering.use_count == 0 && entering.cap == Rate{0}) {
    throw InvalidInput("a flow must use a resource or have a cap, got neither");
  }
  entering.state = ItemState::Streaming;
  entering.number = ++number_;
  for (const ResourceUse& use : uses_of(entering)) {
    Node& crossed = node(use.resource);
    crossed.weight += use.weight;
    ++crossed.flows;
    ++crossed.fresh;
    memory_flows_ += crossed.refreshes ? 1 : 0;
    touch(use.resource);
  }
  if (entering.use_count == 0) {
    set_share(id, {grains(entering.cap), 1});
  } else {
    entered_.push_back(id);
    unlisted_.push_back({entering.number, id, 0});
  }
  ++streaming_;
}

void Engine::enter_compute(std::int32_t id) {
  Item& entering = item(id);
  entering.state = ItemState::Computing;
  const ResourceId port = held_[subscript(entering.first_use)].resource;
  std::vector<std::int32_t>& computes = sides_[port.index()].computes;
  entering.place = static_cast<std::int32_t>(computes.size());
  computes.push_back(id);
  ++computations_;
  if (!node(port).stale) {
    node(port).stale = true;
    stale_.push_back(port);
  }
}

/// Takes a flow that has ended off its resources.
void Engine::leave(std::int32_t id) {
  Item& leaving = item(id);
  leaving.number = 0;
  --streaming_;
  for (const ResourceUse& use : uses_of(leaving)) {
    Node& crossed = node(use.resource);
    crossed.carried += leaving.bytes * use.weight;
    crossed.weight -= use.weight;
    crossed.used -= leaving.share.num * use.weight / leaving.share.den;
    --crossed.flows;
    if (crossed.flows == 0) {
      crossed.crossings.clear();
      crossed.repaired = false;
    }
    memory_flows_ -= crossed.refreshes ? 1 : 0;
    touch(use.resource);
  }
}

void Engine::leave_compute(const Item& leaving) {
  std::vector<std::int32_t>& computes =
      sides_[held_[subscript(leaving.first_use)].resource.index()].computes;
  item(computes.back()).place = leaving.place;
  computes[subscript(leaving.place)] = computes.back();
  computes.pop_back();
  --computations_;
}

void Engine::touch(ResourceId resource) {
  if (!node(resource).dirty) {
    node(resource).dirty = true;
    dirty_.push_back(resource);
  }
}

/// What the agenda has `id` down for happens now.
void Engine::due(std::int32_t id) {
  if (id == kRefreshItem) {
    touch_memories();
    return;
  }
  switch (item(id).state) {
    case ItemState::Waiting:
      enter(id);
      return;
    case ItemState::Streaming:
      leave(id);
      if (item(id).latency > Picoseconds{0}) {
        item(id).state = ItemState::Arriving;
        agenda_.set(id, now_ + item(id).latency);
        return;
      }
      emit(id);
      return;
    case ItemState::Computing:
      leave_compute(item(id));
      emit(id);
      return;
    case ItemState::Arriving:
    case ItemState::Timing:
      emit(id);
      return;
    case ItemState::Free:
      break;
  }
  throw InternalError("sim: an item that is free is due");
}

void Engine::emit(std::int32_t id) {
  events_.push_back({now_, item(id).kind, item(id).tag});
  free_item(id);
}

}  // namespace elk::sim
