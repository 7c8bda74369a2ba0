#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/layout/layout.hpp"
#include "elk/program/code/spaces.hpp"
#include "elk/program/expand/collective_moves.hpp"
#include "elk/program/expand/transfers.hpp"

namespace elk::program {

/// Cores that run calls of one shape.
struct Tiles {
  Table<AxisId, std::int64_t> size;  // of every axis, in one step
  Cores cores;
};

/// The rotation of one operand along one dimension: the same exchange after some of the steps.
struct RotationExchange {
  OperandId operand;
  DimId dim;
  Exchange exchange;
  std::int64_t every;   // steps: after those whose number, from 1, it divides, but for the last
  std::int64_t bytes;   // passed on at a time by the busiest core
  std::int64_t chunks;  // loads of the transfer buffer, each with a sync
  std::int64_t slices;  // contiguous runs of a load, copied into place ...
  std::int64_t run;     // ... of so many elements each
  std::int64_t bits;    // of an element
};

/// One exchange of partial results, which are then added up.
struct ReductionRound {
  Exchange exchange;
  std::int64_t parts;     // added up by a core
  std::int64_t elements;  // of each
};

/// What `execute` does, step by step (design 7). Bytes and boxes; no time.
struct Execution {
  Exchange gather;      // activations, to where the first step needs them
  Exchange distribute;  // the rest of weights and states, which cores have in part
  std::vector<Tiles> tiles;
  std::int64_t steps;
  std::vector<RotationExchange> rotations;  // in the order in which they follow a step
  std::vector<ReductionRound> reduce;
  bool wide;                                  // whether they are on several chips
  std::optional<CollectiveMoves> collective;  // instead of steps and reductions
};

/// What the execute of an op does. `have[k]` is the layout in which operand k rests, null where it
/// does not rest on chip.
[[nodiscard]] Execution expand(const PlacedOp& placed,
                               TableView<OperandId, const partition::Layout* const> have);

/// Bytes that a core with these tiles holds of a read operand when the execute begins.
[[nodiscard]] Bytes held_bytes(const PlacedOp& placed, OperandId k,
                               Table<AxisId, std::int64_t> tile);

/// Adds what an execute fetches of a weight or state beyond what a core has of it ahead, as in
/// `Execution::distribute`: the rest of its piece from peers, or all of it from everywhere.
void add_setup(const PlacedOp& placed, OperandId k, Exchange& exchange);

/// The rotations of an op, none where every operand is whole.
[[nodiscard]] std::vector<RotationExchange> rotations(const PlacedOp& placed);

/// The exchanges after the last step: reduce-scatters of partial results, rounds of a row op.
[[nodiscard]] std::vector<ReductionRound> reductions(const PlacedOp& placed);

}  // namespace elk::program
