#pragma once

#include "elk/base/ids.hpp"
#include "elk/ir/graph.hpp"

namespace elk::ir {

/// Bytes that an op touches: of what `axis` indexes, and of all else.
struct TouchedBytes {
  double along;
  double fixed;

  [[nodiscard]] double all() const { return along + fixed; }
  /// Of the largest of so many equal parts along the axis.
  [[nodiscard]] double in_waves(std::int64_t waves) const {
    return fixed + (along / static_cast<double>(waves));
  }
};

/// The first and the last index of a dimension that an op counts, within the tensor or beyond.
struct CountedRange {
  std::int64_t first;
  std::int64_t last;
};
[[nodiscard]] CountedRange counted(const Op& op, const Dim& dim);

/// Whether `axis` counts any dimension of an operand, or what it picks.
[[nodiscard]] bool is_along(const Operand& operand, AxisId axis);

/// Bytes of the box of a tensor that an operand touches.
[[nodiscard]] double touched(const Graph& graph, const Op& op, const Operand& operand);
/// Bytes of all that an op touches; an operand that is read twice in the same way counts once.
[[nodiscard]] TouchedBytes touched(const Graph& graph, const Op& op, AxisId axis = AxisId::none);

/// Bytes that the op touches which touches most of all that are cut to one index of each parallel
/// axis: no waves touch less.
[[nodiscard]] double least_touched(const Graph& graph);

}  // namespace elk::ir
