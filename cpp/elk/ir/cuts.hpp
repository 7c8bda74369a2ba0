#pragma once

#include <cstddef>
#include <optional>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/waves.hpp"

namespace elk::ir {

/// What ops in waves must keep to.
struct CutLimits {
  double room;      // bytes of all SRAM
  double most;      // bytes that an op may touch
  std::size_t ops;  // of the graph in waves
};

/// `parts` with every op that touches more than `most` bytes in waves that touch less, as far as
/// parallel axes allow: along the axis that adds fewest bytes to what HBM reads and stores for
/// those of SRAM that it frees, and along another one for what that cannot cut. Empty where that
/// takes too many ops.
[[nodiscard]] std::optional<WaveGraph> cut_to_fit(WaveGraph parts, const CutLimits& limits);

}  // namespace elk::ir
