#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "elk/sim/flows/engine.hpp"

namespace elk::sim {

/// Links that serve one send after another, in the order of asking. A send asks for all links of
/// its way at once and begins when it is the first at each of them. Whoever asked first of all is
/// first everywhere, so that somebody always moves.
class LinkQueues {
 public:
  /// `exclusive`: of every resource, whether it serves one send after another.
  explicit LinkQueues(std::span<const std::uint8_t> exclusive);

  /// Queues send `tag` at the exclusive ones of `uses`. True: it may begin at once.
  bool ask(Tag tag, std::span<const ResourceUse> uses);

  /// The send that was first at `uses` has left. Adds to `begin` what may begin now, in the order
  /// of the links.
  void leave(std::span<const ResourceUse> uses, std::vector<Tag>& begin);

 private:
  struct LinkRequest {
    Tag tag;
    std::int32_t behind;  // links at which another is before it
  };

  std::vector<std::uint8_t> exclusive_;
  std::vector<std::deque<std::int32_t>> queues_;  // of every resource: places in `asking_`
  std::vector<LinkRequest> asking_;
  std::vector<std::int32_t> free_;  // places in `asking_`
};

}  // namespace elk::sim
