#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elk/emulate/access.hpp"

namespace elk::emulate {

/// `count` elements that follow each other in two dense pieces.
struct SharedRun {
  std::int64_t from;  // number of the first element in one piece
  std::int64_t to;    // and in the other
  std::int64_t count;
};

/// The elements that both pieces have, in ascending order: of every dimension the common indices.
[[nodiscard]] std::vector<SharedRun> shared_runs(const Held& from, const Held& to);

/// Elements in `runs`.
[[nodiscard]] std::int64_t elements(std::span<const SharedRun> runs);

}  // namespace elk::emulate
