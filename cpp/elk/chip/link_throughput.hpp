#pragma once

#include "elk/chip/chip.hpp"

namespace elk::chip {

/// What the links of a grid or ring let through, whichever cores a plan uses. Without a limit:
/// infinity, and so on all-to-all.
struct LinkThroughput {
  /// Into all cores of a chip together: every byte that a core receives, from another or from HBM,
  /// comes in over a directed link of the grid or that of a module's node.
  BytesPerSecond receive;
  /// Data striped over all modules, each byte of which some core needs, whichever. A straight cut
  /// leaves the cores A on one side and B on the other, b bytes a second each way between them; the
  /// modules with all nodes in A hold the share a of the data, those in B the share c. Of h bytes,
  /// x are needed in B and the others at most in A, so that
  ///
  ///     t b >= max(a x, c (h - x)) >= h a c / (a + c)
  ///
  /// where the two are equal, at x = h c / (a + c). The least rate of all straight cuts: those at
  /// the edges and the bisection among them.
  BytesPerSecond anywhere;
};
[[nodiscard]] LinkThroughput crossing(const Chip& chip);

}  // namespace elk::chip
