#pragma once

#include <cstdint>
#include <vector>

#include "elk/emulate/memory/boxes.hpp"

namespace elk::emulate {

/// Where the elements of a piece lie, dimension by dimension from the innermost: runs from the
/// ascending order of their indices to their places. Along what rotates indices lie in a circle,
/// and there may be places without an index.
struct ElementPositions {
  std::vector<OverlapRange> runs{{.from = 0, .to = 0, .count = 1}};
  std::int64_t indices = 1;
  std::int64_t places = 1;
};

/// The positions with one more dimension around them, of `along.indices` and `along.places`.
[[nodiscard]] ElementPositions around(const ElementPositions& along, const ElementPositions& inner);

/// Whether every place has its index, in order.
[[nodiscard]] bool in_order(const ElementPositions& rows);

}  // namespace elk::emulate
