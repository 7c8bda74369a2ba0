#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "elk/base/units.hpp"

namespace elk::sim {

/// How long calls take on one core that does nothing else.
struct CallTimes {
  /// Of the kernel of an op on a sub-task of these axis sizes.
  std::function<Picoseconds(std::int32_t op, std::span<const std::int64_t> size)> sub_task;
  /// Of adding up `parts` partial results of `elements` each.
  std::function<Picoseconds(std::int32_t op, std::int64_t parts, std::int64_t elements)> add;
  /// Of copying `slices` runs of `run` elements of `bits` each.
  std::function<Picoseconds(std::int32_t op, std::int64_t slices, std::int64_t run,
                            std::int64_t bits)>
      copy;
};

}  // namespace elk::sim
