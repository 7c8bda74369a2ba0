#pragma once

#include <cstdint>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/graph.hpp"

namespace elk::ir {

/// Parts of an op that run one after another, each on all cores: one of its axes in equal parts.
struct Rounds {
  AxisId axis = AxisId::none;  // none: one round
  std::int64_t count = 1;
};

/// Has an axis of `op` be `length` long, and the op do as much less work.
void shorten(Op& op, AxisId axis, std::int64_t length);

/// Whether results wait in the cores for the last round: the axis is summed over.
[[nodiscard]] bool sums_up(const Op& op, const Rounds& rounds);

/// `graph` with one round in place of each op, the longest. Where results wait for the last round,
/// what it makes are partial sums: a tensor of its own, of the type in which the op adds up if that
/// is wider.
[[nodiscard]] Graph in_rounds(const Graph& graph, const Table<OpId, Rounds>& rounds);

}  // namespace elk::ir
