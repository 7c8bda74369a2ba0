#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "elk/emulate/access.hpp"

namespace elk::emulate {

/// `count` elements that follow each other in two dense pieces.
struct SharedRun {
  std::int64_t from;  // number of the first element in one piece
  std::int64_t to;    // and in the other
  std::int64_t count;
};

/// Calls `visit` for the elements that both pieces have, in ascending order: of every dimension the
/// common indices. Returns how many there are.
std::int64_t for_each_shared_run(const Held& from, const Held& to,
                                 const std::function<void(const SharedRun&)>& visit);

/// The same as a list.
[[nodiscard]] std::vector<SharedRun> shared_runs(const Held& from, const Held& to);

}  // namespace elk::emulate
