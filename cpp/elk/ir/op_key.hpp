#pragma once

#include <cstdint>
#include <string>

#include "elk/ir/graph.hpp"

namespace elk::ir {

/// Where reads begin in their tensors, in a key: as it is, or just whether at the first index if
/// the op reads the tensor once and no index of any axis lies outside.
enum class KeyOffsets : std::uint8_t { Exact, Clipping };

/// All of an op that its plans depend on, as bytes, whatever graph it stands in: names and the
/// numbers it computes with are left out, and its tensors are told apart by the order in which
/// operands first name them. Ops with equal keys have the same plans at the same costs, alone on a
/// chip whatever the offsets.
[[nodiscard]] std::string op_key(const Graph& graph, const Op& op,
                                 KeyOffsets offsets = KeyOffsets::Exact);

}  // namespace elk::ir
