#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "elk/partition/layout.hpp"
#include "elk/program/spaces.hpp"
#include "elk/program/transfers.hpp"

namespace elk::program {

/// A box that some cores hold and others need: the common part of two pieces.
struct Move {
  std::int32_t from;  // in Moves::held
  std::int32_t to;    // in Moves::needed
  std::int64_t elements;
  std::int64_t runs;  // contiguous both where it comes from and where it goes
};

/// How a tensor gets from the layout in which it rests to the one in which it is needed.
struct Moves {
  std::vector<PieceGroup> held;
  std::vector<PieceGroup> needed;
  std::vector<Move> moves;  // by `to`
};
[[nodiscard]] Moves moves(const partition::Pieces& held, const partition::Pieces& needed);

/// The box of a move: of every dimension the indices that both pieces have.
[[nodiscard]] std::vector<partition::Indices> box_of(const partition::Pieces& held,
                                                     const partition::Pieces& needed,
                                                     const Moves& moves, const Move& move);

/// Adds what brings operand `k`, an activation or an input, to where an execute needs it. `have` is
/// the layout in which it rests; null: in equal shares on all cores. So does a tensor of which an
/// index picks rows: which they are is not known.
void add_gather(const PlacedOp& placed, std::size_t k, const partition::Layout* have,
                Exchange& exchange);

}  // namespace elk::program
