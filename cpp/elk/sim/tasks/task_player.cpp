#include "elk/sim/tasks/task_player.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/watch.hpp"
#include "elk/sim/tasks/link_queues.hpp"

namespace elk::sim {
namespace {

constexpr Picoseconds kUnknown{-1};
constexpr std::int64_t kItemBits = 32;

/// A tag names a task and, of a send or a computation, its place in the body.
Tag tag_of(TaskId task, std::size_t item) {
  return (static_cast<Tag>(task.value) << kItemBits) | static_cast<Tag>(item);
}
TaskId task_of(Tag tag) { return {static_cast<std::int32_t>(tag >> kItemBits)}; }
std::size_t item_of(Tag tag) { return static_cast<std::size_t>(tag & ((Tag{1} << kItemBits) - 1)); }

class TaskPlayer {
 public:
  TaskPlayer(const Machine& machine, const TaskGraph& graph,
             std::span<const std::uint8_t> exclusive)
      : machine_(machine),
        graph_(graph),
        engine_(machine),
        states_(graph.tasks().size()),
        known_(graph.bodies()),
        rested_(graph.streams(), kUnknown),
        sends_on_(machine.resources.size(), 0),
        since_(machine.resources.size()) {
    if (!exclusive.empty()) {
      queues_.emplace(exclusive);
    }
    out_.tasks.resize(graph.tasks().size());
    out_.carried.resize(machine.resources.size());
    out_.busy.resize(machine.resources.size());
    order();
  }

  TasksRun run() {
    settle();
    for (auto events = engine_.next(); !events.empty(); events = engine_.next()) {
      Watch::check();
      for (const Event& event : events) {
        take(event);
      }
      settle();
    }
    if (over_ != states_.size()) {
      throw InternalError("sim: tasks wait for each other");
    }
    for (const BodyAlone& known : known_) {
      out_.alone.push_back(known.length);
    }
    return std::move(out_);
  }

 private:
  enum class TaskStatus : std::uint8_t { Waiting, Leading, Playing, Ending };

  struct TaskState {
    TaskStatus stage = TaskStatus::Waiting;
    std::int32_t waits = 0;  // tasks that have to be over first
    std::size_t left = 0;    // sends and computations under way
    Picoseconds end{0};      // of what has left its links, tails included
    std::vector<TaskId> next;
  };

  /// What a body does with the machine to itself.
  struct BodyAlone {
    Picoseconds length = kUnknown;
    std::vector<std::pair<ResourceId, Picoseconds>> busy;
  };

  [[nodiscard]] TaskState& state(TaskId id) { return states_[id.index()]; }
  [[nodiscard]] const Task& task(TaskId id) const { return graph_.tasks()[id.index()]; }
  [[nodiscard]] const Body& body(TaskId id) const { return graph_.body(*task(id).body); }
  [[nodiscard]] BodyAlone& known(TaskId id) { return known_[task(id).body->index()]; }

  /// Who waits for whom.
  void order() {
    std::vector<std::optional<TaskId>> last(graph_.streams());
    for (std::size_t t = 0; t < states_.size(); ++t) {
      const auto id = id_at<TaskId>(t);
      const auto follow = [&](TaskId before) {
        state(before).next.push_back(id);
        ++state(id).waits;
      };
      std::optional<TaskId>& before = last[task(id).stream.index()];
      if (before) {
        follow(*before);
      }
      for (const TaskId other : task(id).after) {
        follow(other);
      }
      before = id;
      if (state(id).waits == 0) {
        ready_.push_back(id);
      }
    }
  }

  /// Begins all that can begin now.
  void settle() {
    while (!ready_.empty() || !bodies_.empty()) {
      std::vector<TaskId> now = std::exchange(ready_, {});
      std::sort(now.begin(), now.end());
      for (const TaskId id : now) {
        begin(id);
      }
      if (ready_.empty()) {
        now = std::exchange(bodies_, {});
        std::sort(now.begin(), now.end());
        for (const TaskId id : now) {
          play(id);
        }
      }
    }
    ask();
  }

  void begin(TaskId id) {
    ++under_way_;
    out_.tasks[id.index()].begin = engine_.now();
    const bool leads =
        task(id).when == Lead::Always || rested_[task(id).stream.index()] != engine_.now();
    if (leads && task(id).lead > Picoseconds{0}) {
      state(id).stage = TaskStatus::Leading;
      engine_.start_timer(tag_of(id, 0), engine_.now() + task(id).lead);
      return;
    }
    lead_over(id);
  }

  void lead_over(TaskId id) {
    if (task(id).body) {
      bodies_.push_back(id);
    } else {
      over(id);
    }
  }

  void play(TaskId id) {
    const Body& playing = body(id);
    for (const BodySend& send : playing.sends()) {
      for (const ResourceUse& use : playing.uses_of(send)) {
        out_.carried[use.resource.index()] += send.bytes * use.weight;
      }
    }
    state(id).end = engine_.now();
    if (under_way_ == 1 && ready_.empty() && alike_at_all_times(playing)) {
      if (known(id).length != kUnknown) {
        replay(id);
        return;
      }
      watch_lone(id);
    }
    state(id).stage = TaskStatus::Playing;
    for (std::size_t i = 0; i < playing.sends().size(); ++i) {
      const BodySend& send = playing.sends()[i];
      if (send.bytes == Bytes{0} || send.use_count == 0) {
        state(id).end = std::max(state(id).end, engine_.now() + send.tail);
        continue;
      }
      ++state(id).left;
      asks_.push_back(tag_of(id, i));
    }
    for (const BodyCalls& calls : playing.computations()) {
      if (calls.alone > Picoseconds{0}) {
        ++state(id).left;
        engine_.start(Computation{.tag = tag_of(id, 0), .alone = calls.alone, .port = calls.port},
                      engine_.now());
      }
    }
    if (state(id).left == 0) {
      body_over(id);
    }
  }

  /// Whether a body takes as long whenever it begins: memories that refresh know what time it is.
  [[nodiscard]] bool alike_at_all_times(const Body& playing) const {
    return machine_.refresh.interval == Picoseconds{0} ||
           std::none_of(playing.uses().begin(), playing.uses().end(), [&](const ResourceUse& use) {
             return machine_.resources[use.resource.index()].refreshes;
           });
  }

  /// Begins to keep what a body does to each resource: nothing else can begin before it is over.
  void watch_lone(TaskId id) {
    lone_ = id;
    lone_since_ = engine_.now();
    known(id).busy.clear();
    for (const ResourceUse& use : body(id).uses()) {
      known(id).busy.emplace_back(use.resource, Picoseconds{0});
    }
    std::sort(known(id).busy.begin(), known(id).busy.end());
    known(id).busy.erase(std::unique(known(id).busy.begin(), known(id).busy.end()),
                         known(id).busy.end());
    for (auto& [resource, busy] : known(id).busy) {
      busy = out_.busy[resource.index()];
    }
  }

  void keep_lone(TaskId id) {
    lone_.reset();
    known(id).length = engine_.now() - lone_since_;
    for (auto& [resource, busy] : known(id).busy) {
      busy = out_.busy[resource.index()] - busy;
    }
  }

  void replay(TaskId id) {
    for (const auto& [resource, busy] : known(id).busy) {
      out_.busy[resource.index()] += busy;
    }
    state(id).end = engine_.now() + known(id).length;
    body_over(id);
  }

  /// Lets the sends of this time ask for their links, in the order of their tasks.
  void ask() {
    std::sort(asks_.begin(), asks_.end());
    for (const Tag tag : asks_) {
      if (!queues_ || queues_->ask(tag, uses_of(tag))) {
        send(tag);
      }
    }
    asks_.clear();
  }

  [[nodiscard]] std::span<const ResourceUse> uses_of(Tag tag) const {
    const Body& playing = body(task_of(tag));
    return playing.uses_of(playing.sends()[item_of(tag)]);
  }

  void send(Tag tag) {
    const std::span<const ResourceUse> uses = uses_of(tag);
    for (const ResourceUse& use : uses) {
      if (sends_on_[use.resource.index()]++ == 0) {
        since_[use.resource.index()] = engine_.now();
      }
    }
    engine_.start(Flow{.tag = tag,
                       .bytes = body(task_of(tag)).sends()[item_of(tag)].bytes,
                       .cap = {0},
                       .latency = {0},
                       .uses = uses},
                  engine_.now());
  }

  void take(const Event& event) {
    const TaskId id = task_of(event.tag);
    switch (event.kind) {
      case EventKind::FlowEnd:
        sent(event.tag);
        item_over(id, body(id).sends()[item_of(event.tag)].tail);
        return;
      case EventKind::ComputeEnd:
        item_over(id, {0});
        return;
      case EventKind::Timer:
        if (state(id).stage == TaskStatus::Leading) {
          lead_over(id);
        } else {
          over(id);
        }
        return;
    }
  }

  /// The last byte of a send has left: its links are free.
  void sent(Tag tag) {
    const std::span<const ResourceUse> uses = uses_of(tag);
    for (const ResourceUse& use : uses) {
      if (--sends_on_[use.resource.index()] == 0) {
        out_.busy[use.resource.index()] += engine_.now() - since_[use.resource.index()];
      }
    }
    if (queues_) {
      queues_->leave(uses, begin_);
      for (const Tag next : begin_) {
        send(next);
      }
      begin_.clear();
    }
  }

  void item_over(TaskId id, Picoseconds tail) {
    state(id).end = std::max(state(id).end, engine_.now() + tail);
    if (--state(id).left == 0) {
      body_over(id);
    }
  }

  void body_over(TaskId id) {
    state(id).stage = TaskStatus::Ending;
    if (state(id).end > engine_.now()) {
      engine_.start_timer(tag_of(id, 0), state(id).end);
    } else {
      over(id);
    }
  }

  void over(TaskId id) {
    ++over_;
    --under_way_;
    if (lone_ == id) {
      keep_lone(id);
    }
    out_.tasks[id.index()].end = engine_.now();
    rested_[task(id).stream.index()] = engine_.now();
    for (const TaskId next : state(id).next) {
      if (--state(next).waits == 0) {
        ready_.push_back(next);
      }
    }
  }

  const Machine& machine_;
  const TaskGraph& graph_;
  Engine engine_;
  std::optional<LinkQueues> queues_;
  std::vector<TaskState> states_;    // of each task
  std::vector<BodyAlone> known_;     // of each body
  std::vector<Picoseconds> rested_;  // of each stream: since when it is at rest
  std::vector<std::int32_t> sends_on_;
  std::vector<Picoseconds> since_;  // when the first of those came
  std::vector<TaskId> ready_;       // to begin now
  std::vector<TaskId> bodies_;      // to be played now
  std::vector<Tag> asks_;
  std::vector<Tag> begin_;
  std::optional<TaskId> lone_;  // the task that has the machine to itself, its body not known yet
  Picoseconds lone_since_{0};
  std::size_t under_way_ = 0;
  std::size_t over_ = 0;
  TasksRun out_;
};

}  // namespace

TasksRun play_tasks(const Machine& machine, const TaskGraph& graph,
                    std::span<const std::uint8_t> exclusive) {
  if (!exclusive.empty() && exclusive.size() != machine.resources.size()) {
    throw InvalidInput("of every resource it must be said whether it is exclusive");
  }
  return TaskPlayer(machine, graph, exclusive).run();
}

}  // namespace elk::sim
