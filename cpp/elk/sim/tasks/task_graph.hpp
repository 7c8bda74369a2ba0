#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/units.hpp"
#include "elk/sim/flows/engine.hpp"

namespace elk::sim {

using StreamId = Id<struct StreamKind>;
using BodyId = Id<struct BodyKind>;
using TaskId = Id<struct TaskKind>;

/// Bytes that take one way over a network.
struct BodySend {
  Bytes bytes;
  Picoseconds tail;        // from the last byte sent until the send is over
  std::int32_t first_use;  // in `Body::uses`
  std::int32_t use_count;
};

/// What one core computes: `alone` with nobody else at its SRAM port.
struct BodyCalls {
  ResourceId port;
  Picoseconds alone;
};

/// What happens in a task: its sends and computations begin at the same time, and the body is over
/// when the last of them is. Tasks that do equal things share one body.
class Body {
 public:
  /// A send without uses, or of no bytes, loads nothing and lasts for its tail.
  void send(Bytes bytes, Picoseconds tail, std::span<const ResourceUse> uses);
  void compute(ResourceId port, Picoseconds alone);

  [[nodiscard]] std::span<const BodySend> sends() const { return sends_; }
  [[nodiscard]] std::span<const BodyCalls> computations() const { return computations_; }
  [[nodiscard]] std::span<const ResourceUse> uses() const { return uses_; }
  [[nodiscard]] std::span<const ResourceUse> uses_of(const BodySend& send) const;

 private:
  std::vector<BodySend> sends_;
  std::vector<BodyCalls> computations_;
  std::vector<ResourceUse> uses_;
};

/// When the lead of a task passes.
enum class Lead : std::uint8_t {
  Always,
  FromRest,  // unless the task before on the stream ends when this one begins
};

/// One thing on a stream. It begins when the task before it on its stream and all of `after` are
/// over. First `lead` passes, then its body is played. A task without body is a wait.
struct Task {
  StreamId stream;
  Picoseconds lead;
  Lead when;
  std::optional<BodyId> body;
  std::vector<TaskId> after;
};

/// Tasks on streams. Every stream runs its tasks in the order in which they were added. A task
/// waits for tasks that were added before it, so that no circle can be written.
class TaskGraph {
 public:
  StreamId add_stream();
  BodyId add(Body body) { return add(std::make_shared<const Body>(std::move(body))); }
  BodyId add(std::shared_ptr<const Body> body);
  /// Throws InvalidInput for a stream, a body or an earlier task that is not there, and for a lead
  /// below zero.
  TaskId add(Task task);

  /// A task that does nothing for `length`.
  TaskId wait(StreamId stream, Picoseconds length, std::vector<TaskId> after = {});
  /// A task that plays `body` at once.
  TaskId play(StreamId stream, BodyId body, std::vector<TaskId> after = {});

  [[nodiscard]] std::span<const Task> tasks() const { return tasks_; }
  [[nodiscard]] std::size_t streams() const { return streams_; }
  [[nodiscard]] std::size_t bodies() const { return bodies_.size(); }
  [[nodiscard]] const Body& body(BodyId id) const { return *bodies_[id.index()]; }
  [[nodiscard]] const std::shared_ptr<const Body>& shared(BodyId id) const {
    return bodies_[id.index()];
  }

 private:
  std::size_t streams_ = 0;
  std::vector<std::shared_ptr<const Body>> bodies_;
  std::vector<Task> tasks_;
};

}  // namespace elk::sim
