#pragma once

#include <vector>

#include "elk/partition/layout/piece.hpp"
#include "elk/program/expand/groups.hpp"

namespace elk::program {

/// What is needed, in boxes of which none overlaps another, each with all cores that need it: what
/// several pieces have in common is sent once.
struct Boxes {
  std::vector<PieceGroup> groups;  // none where no pieces overlap
  std::vector<partition::DimPieces> dims;
};
[[nodiscard]] Boxes boxes(const partition::Pieces& needed, const std::vector<PieceGroup>& whole);

}  // namespace elk::program
