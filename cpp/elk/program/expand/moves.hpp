#pragma once

#include <cstdint>
#include <vector>

#include "elk/partition/layout/piece.hpp"
#include "elk/program/expand/groups.hpp"

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

/// Lists into `out.moves` what brings the pieces of `out.needed`, whose sets are those of `needed`.
void list_moves(const partition::Pieces& held, const std::vector<partition::DimPieces>& needed,
                Moves& out);

}  // namespace elk::program
