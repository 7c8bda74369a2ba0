#include "elk/sim/tasks/link_queues.hpp"

#include <optional>

#include "elk/base/ids.hpp"

namespace elk::sim {

LinkQueues::LinkQueues(std::span<const std::uint8_t> exclusive)
    : exclusive_(exclusive.begin(), exclusive.end()), queues_(exclusive.size()) {}

bool LinkQueues::ask(Tag tag, std::span<const ResourceUse> uses) {
  auto place = static_cast<std::int32_t>(asking_.size());
  if (free_.empty()) {
    asking_.push_back({});
  } else {
    place = free_.back();
    free_.pop_back();
  }
  LinkRequest& asking = asking_[subscript(place)];
  asking = {.tag = tag, .behind = 0};
  bool queued = false;
  for (const ResourceUse& use : uses) {
    if (exclusive_[use.resource.index()] != 0) {
      std::deque<std::int32_t>& queue = queues_[use.resource.index()];
      asking.behind += queue.empty() ? 0 : 1;
      queue.push_back(place);
      queued = true;
    }
  }
  if (!queued) {
    free_.push_back(place);
    return true;
  }
  return asking.behind == 0;
}

void LinkQueues::leave(std::span<const ResourceUse> uses, std::vector<Tag>& begin) {
  std::optional<std::int32_t> left;
  for (const ResourceUse& use : uses) {
    if (exclusive_[use.resource.index()] == 0) {
      continue;
    }
    std::deque<std::int32_t>& queue = queues_[use.resource.index()];
    left = queue.front();
    queue.pop_front();
    if (!queue.empty()) {
      LinkRequest& next = asking_[subscript(queue.front())];
      --next.behind;
      if (next.behind == 0) {
        begin.push_back(next.tag);
      }
    }
  }
  if (left) {
    free_.push_back(*left);
  }
}

}  // namespace elk::sim
