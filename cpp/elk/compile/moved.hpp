#pragma once

#include <vector>

#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/program/code/code.hpp"

namespace elk::compile {

/// Bytes that the busiest core receives or sends at the start of an execute.
struct ExchangeBytes {
  Bytes gather;      // of activations
  Bytes distribute;  // of the rest of preloaded pieces
};

/// The bytes of every op of a program, as it says who sends what: the search takes senders to be
/// even, and pieces to be cut without a rest.
[[nodiscard]] std::vector<ExchangeBytes> moved(const ir::Graph& graph, const chip::Chip& chip,
                                               const program::Program& program, int threads);

}  // namespace elk::compile
