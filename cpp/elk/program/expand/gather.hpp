#pragma once

#include <cstddef>
#include <span>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/layout/layout.hpp"
#include "elk/program/code/spaces.hpp"
#include "elk/program/expand/moves.hpp"
#include "elk/program/expand/transfers.hpp"

namespace elk::program {

/// Adds what brings operand `k`, an activation or an input, to where an execute needs it. `have` is
/// the layout in which it rests; null: in equal shares on all cores. So does a tensor of which an
/// index picks rows: which they are is not known.
void add_gather(const PlacedOp& placed, OperandId k, const partition::Layout* have,
                Exchange& exchange);

/// Everything that an execute gathers: its activations and inputs, `have` by operand, and of a
/// collective what cores hand to the port beside them.
[[nodiscard]] Exchange gather(const PlacedOp& placed,
                              TableView<OperandId, const partition::Layout* const> have);

}  // namespace elk::program
