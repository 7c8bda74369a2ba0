#include "elk/sim/engine.hpp"

#include <algorithm>
#include <limits>

#include "elk/base/errors.hpp"
#include "elk/base/text.hpp"

namespace elk::sim {
namespace {

constexpr std::int32_t kRefreshItem = 0;  // the first item keeps the time of refreshes

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace

Engine::Engine(const Machine& machine) : refresh_(machine.refresh) {
  if (refresh_.interval < Picoseconds{0} || refresh_.stall < Picoseconds{0} ||
      refresh_.fresh < Picoseconds{0} ||
      (refresh_.interval > Picoseconds{0} && refresh_.stall >= refresh_.interval)) {
    throw InvalidInput(text("a refresh must stall for less than its interval of ",
                            refresh_.interval.value, " ps, got ", refresh_.stall.value, " ps"));
  }
  nodes_.reserve(machine.resources.size());
  for (const Resource& resource : machine.resources) {
    if (resource.capacity <= Rate{0}) {
      throw InvalidInput(
          text("a capacity must be positive, got ", resource.capacity.value, " bytes/s"));
    }
    nodes_.push_back(
        {.capacity = grains(resource.capacity),
         .sustained = grains(resource.sustained > Rate{0} ? resource.sustained : resource.capacity),
         .carried = {0},
         .flows = {},
         .computes = {},
         .stamp = 0,
         .local = 0,
         .refreshes = resource.refreshes,
         .dirty = false,
         .stale = false});
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
  made.cap = grains(flow.cap);
  made.latency = flow.latency;
  made.use_count = static_cast<std::int32_t>(flow.uses.size());
  made.first_use = hold(flow.uses);
  made.state = State::Waiting;
  begin(id, when);
}

void Engine::start(const Compute& compute, Picoseconds when) {
  const Wide speed = node(compute.port).capacity;
  const Wide most = std::numeric_limits<std::int64_t>::max();
  if (compute.alone < Picoseconds{0} || speed > (most * most) / (compute.alone.value + 1)) {
    throw InvalidInput(text("a computation must take from 0 ps to the range of simulated time, ",
                            "got ", compute.alone.value, " ps"));
  }
  const std::int32_t id = new_item(EventKind::ComputeEnd, compute.tag);
  const Use use{compute.port, 1};
  Item& made = item(id);
  made.left = speed * compute.alone.value;
  made.use_count = 1;
  made.first_use = hold({&use, 1});
  made.state = State::Waiting;
  begin(id, when);
}

void Engine::start_timer(Tag tag, Picoseconds when) {
  if (when < now_) {
    throw InternalError(
        text("sim: a timer at ", when.value, " ps, when it is ", now_.value, " ps"));
  }
  const std::int32_t id = new_item(EventKind::Timer, tag);
  item(id).state = State::Timing;
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
      return {};
    }
    now_ = agenda_.first_time();
    while (!agenda_.empty() && agenda_.first_time() == now_) {
      const std::int32_t id = agenda_.first();
      agenda_.remove(id);
      due(id);
    }
  }
  std::sort(events_.begin(), events_.end());
  return events_;
}

Bytes Engine::carried(ResourceId resource) const { return nodes_[resource.index()].carried; }

std::int32_t Engine::new_item(EventKind kind, Tag tag) {
  std::int32_t id = static_cast<std::int32_t>(items_.size());
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
  const Item& gone = item(id);
  if (gone.use_count > 0) {
    free_held_[at(gone.use_count)].push_back(gone.first_use);
  }
  item(id).state = State::Free;
  free_items_.push_back(id);
}

/// The first of a block of `held_` with a copy of `uses`.
std::int32_t Engine::hold(std::span<const Use> uses) {
  if (uses.size() >= free_held_.size()) {
    free_held_.resize(uses.size() + 1);
  }
  std::vector<std::int32_t>& blocks = free_held_[uses.size()];
  std::int32_t first = static_cast<std::int32_t>(held_.size());
  if (blocks.empty()) {
    held_.resize(held_.size() + uses.size());
  } else {
    first = blocks.back();
    blocks.pop_back();
  }
  for (std::size_t u = 0; u < uses.size(); ++u) {
    held_[at(first) + u] = {.use = uses[u], .place = 0};
  }
  return first;
}

/// Puts an item that starts now on its resources.
void Engine::enter(std::int32_t id) {
  Item& entering = item(id);
  entering.since = now_;
  if (entering.kind == EventKind::ComputeEnd) {
    entering.state = State::Computing;
    const ResourceId port = held_[at(entering.first_use)].use.resource;
    held_[at(entering.first_use)].place = static_cast<std::int32_t>(node(port).computes.size());
    node(port).computes.push_back(id);
    if (!node(port).stale) {
      node(port).stale = true;
      stale_.push_back(port);
    }
    return;
  }
  if (entering.left == 0) {
    entering.state = State::Arriving;
    agenda_.set(id, now_ + entering.latency);
    return;
  }
  if (entering.use_count == 0 && entering.cap == 0) {
    throw InvalidInput("a flow must use a resource or have a cap, got neither");
  }
  entering.state = State::Streaming;
  for (std::int32_t h = entering.first_use; h < entering.first_use + entering.use_count; ++h) {
    Held& held = held_[at(h)];
    Node& crossed = node(held.use.resource);
    held.place = static_cast<std::int32_t>(crossed.flows.size());
    crossed.flows.push_back({id, h});
    memory_flows_ += crossed.refreshes ? 1 : 0;
    touch(held.use.resource);
  }
  if (entering.use_count == 0) {
    set_share(id, {entering.cap, 1});
  }
}

/// Takes an item that has ended off its resources.
void Engine::leave(std::int32_t id) {
  const Item& leaving = item(id);
  if (leaving.state == State::Computing) {
    const Held& held = held_[at(leaving.first_use)];
    std::vector<std::int32_t>& computes = node(held.use.resource).computes;
    computes[at(held.place)] = computes.back();
    held_[at(item(computes.back()).first_use)].place = held.place;
    computes.pop_back();
    return;
  }
  for (std::int32_t h = leaving.first_use; h < leaving.first_use + leaving.use_count; ++h) {
    const Held& held = held_[at(h)];
    Node& crossed = node(held.use.resource);
    crossed.carried += leaving.bytes * held.use.weight;
    const Crossing last = crossed.flows.back();
    crossed.flows[at(held.place)] = last;
    held_[at(last.held)].place = held.place;
    crossed.flows.pop_back();
    memory_flows_ -= crossed.refreshes ? 1 : 0;
    touch(held.use.resource);
  }
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
    case State::Waiting:
      enter(id);
      return;
    case State::Streaming:
      leave(id);
      if (item(id).latency > Picoseconds{0}) {
        item(id).state = State::Arriving;
        agenda_.set(id, now_ + item(id).latency);
        return;
      }
      emit(id);
      return;
    case State::Computing:
      leave(id);
      emit(id);
      return;
    case State::Arriving:
    case State::Timing:
      emit(id);
      return;
    case State::Free:
      break;
  }
  throw InternalError("sim: an item that is free is due");
}

void Engine::emit(std::int32_t id) {
  events_.push_back({now_, item(id).kind, item(id).tag});
  free_item(id);
}

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
  if (share.num == 0 && moving.left > 0) {
    agenda_.remove(id);
    return;
  }
  agenda_.set(id, now_ + time_to_move(moving.left, share));
}

}  // namespace elk::sim
