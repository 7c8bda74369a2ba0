#pragma once

#include <cstdint>
#include <vector>

#include "elk/sim/tasks/task_graph.hpp"
#include "elk/sim/tasks/task_player.hpp"

namespace elk::sim {

inline constexpr Rate kTaskLink{1'000'000'000};  // 1 GB/s moves a byte in 1,000 ps

inline Machine task_links(std::size_t count) {
  return {.resources = std::vector<Resource>(count, steady(kTaskLink)), .refresh = {}};
}

/// A send over `links`, each with weight 1.
inline void send_over(Body& body, std::int64_t bytes, const std::vector<std::int32_t>& links,
                      std::int64_t tail = 0) {
  std::vector<ResourceUse> uses;
  for (const std::int32_t link : links) {
    uses.push_back({{link}, 1});
  }
  body.send({bytes}, {tail}, uses);
}

/// A body of one send.
inline Body one_send(std::int64_t bytes, const std::vector<std::int32_t>& links,
                     std::int64_t tail = 0) {
  Body body;
  send_over(body, bytes, links, tail);
  return body;
}

inline Interval<Picoseconds> span_of(std::int64_t begin, std::int64_t end) {
  return {{begin}, {end}};
}

}  // namespace elk::sim
