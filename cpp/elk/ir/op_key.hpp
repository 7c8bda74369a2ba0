#pragma once

#include <string>

#include "elk/ir/graph.hpp"

namespace elk::ir {

/// All of an op that its plans depend on, as bytes, whatever graph it stands in: names and the
/// numbers it computes with are left out, and its tensors are told apart by the order in which
/// operands first name them. Ops with equal keys have the same plans at the same costs.
[[nodiscard]] std::string op_key(const Graph& graph, const Op& op);

}  // namespace elk::ir
