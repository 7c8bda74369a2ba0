#pragma once

#include <cstdint>
#include <vector>

#include "elk/emulate/memory/boxes.hpp"

namespace elk::emulate {

/// Where the elements of a piece lie, dimension by dimension from the innermost: runs from the
/// ascending order of their indices to their places. Along what rotates indices lie in a circle,
/// and there may be places without an index.
struct Positions {
  std::vector<SharedRun> runs{{.from = 0, .to = 0, .count = 1}};
  std::int64_t indices = 1;
  std::int64_t places = 1;
};

/// The same with one more dimension around it, of `along.indices` and `along.places`.
[[nodiscard]] Positions around(const Positions& along, const Positions& inner);

/// Whether every place has its index, in order.
[[nodiscard]] bool in_order(const Positions& rows);

}  // namespace elk::emulate
