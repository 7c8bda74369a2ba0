#pragma once

#include <vector>

#include "elk/sim/flows/engine.hpp"

namespace elk::sim {

/// All that an engine still has to tell.
inline std::vector<Event> play(Engine& engine) {
  std::vector<Event> events;
  for (auto some = engine.next(); !some.empty(); some = engine.next()) {
    events.insert(events.end(), some.begin(), some.end());
  }
  return events;
}

/// A flow without cap and latency.
inline Flow plain(Tag tag, std::int64_t bytes, std::span<const ResourceUse> uses) {
  return {.tag = tag, .bytes = {bytes}, .cap = {0}, .latency = {0}, .uses = uses};
}

}  // namespace elk::sim
