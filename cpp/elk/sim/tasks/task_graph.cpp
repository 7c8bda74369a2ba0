#include "elk/sim/tasks/task_graph.hpp"

#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/text.hpp"

namespace elk::sim {

void Body::send(Bytes bytes, Picoseconds tail, std::span<const ResourceUse> uses) {
  if (bytes < Bytes{0} || bytes.value > kMostFlowBytes) {
    throw InvalidInput(
        text("the bytes of a send must be from 0 to ", kMostFlowBytes, ", got ", bytes.value));
  }
  if (tail < Picoseconds{0}) {
    throw InvalidInput(text("the tail of a send must not be negative, got ", tail.value, " ps"));
  }
  sends_.push_back({.bytes = bytes,
                    .tail = tail,
                    .first_use = static_cast<std::int32_t>(uses_.size()),
                    .use_count = static_cast<std::int32_t>(uses.size())});
  uses_.insert(uses_.end(), uses.begin(), uses.end());
}

void Body::compute(ResourceId port, Picoseconds alone) {
  if (alone < Picoseconds{0}) {
    throw InvalidInput(text("a computation must not take less than 0 ps, got ", alone.value));
  }
  computations_.push_back({.port = port, .alone = alone});
}

std::span<const ResourceUse> Body::uses_of(const BodySend& send) const {
  return std::span(uses_).subspan(subscript(send.first_use), subscript(send.use_count));
}

StreamId TaskGraph::add_stream() { return id_at<StreamId>(streams_++); }

BodyId TaskGraph::add(std::shared_ptr<const Body> body) {
  bodies_.push_back(std::move(body));
  return id_at<BodyId>(bodies_.size() - 1);
}

TaskId TaskGraph::add(Task task) {
  const auto id = id_at<TaskId>(tasks_.size());
  if (task.stream.value < 0 || task.stream.index() >= streams_) {
    throw InvalidInput(text("task ", id, " is on stream ", task.stream, " of ", streams_));
  }
  if (task.body && (task.body->value < 0 || task.body->index() >= bodies_.size())) {
    throw InvalidInput(text("task ", id, " has body ", *task.body, " of ", bodies_.size()));
  }
  if (task.lead < Picoseconds{0}) {
    throw InvalidInput(text("the lead of task ", id, " is ", task.lead.value, " ps"));
  }
  for (const TaskId before : task.after) {
    if (before.value < 0 || before >= id) {
      throw InvalidInput(text("task ", id, " waits for task ", before, ", which is not before it"));
    }
  }
  tasks_.push_back(std::move(task));
  return id;
}

TaskId TaskGraph::wait(StreamId stream, Picoseconds length, std::vector<TaskId> after) {
  return add(Task{.stream = stream,
                  .lead = length,
                  .when = Lead::Always,
                  .body = std::nullopt,
                  .after = std::move(after)});
}

TaskId TaskGraph::play(StreamId stream, BodyId body, std::vector<TaskId> after) {
  return add(Task{.stream = stream,
                  .lead = {0},
                  .when = Lead::Always,
                  .body = body,
                  .after = std::move(after)});
}

}  // namespace elk::sim
