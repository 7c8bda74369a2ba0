#pragma once

#include <cstdint>
#include <vector>

#include "elk/partition/layout/layout.hpp"
#include "elk/program/code/spaces.hpp"
#include "elk/program/expand/transfers.hpp"

namespace elk::program {

/// Bytes on their way from the HBM of one chip to some of its cores, or from one core to the HBM.
struct LoadingPiece {
  std::int32_t operand;
  std::int32_t chip;
  std::int64_t bytes;  // received, or sent, by each of the cores
  Cores cores;
};

/// What `preload_async` brings, or `store_async` writes back. Every piece lies striped over all
/// channels of its chip.
struct Loading {
  std::vector<std::int64_t> hbm_bytes;  // read or written, of every chip
  std::vector<LoadingPiece> pieces;
  std::int64_t run;  // contiguous bytes at the HBM, 0: all
};

/// Design 3.4: of every operand from HBM a core receives one of `divisor` equal slices of its
/// piece: the number among those that hold the same piece, over the length of a rotation ring, says
/// which. A slice that several cores of a chip receive is read once where the chip multicasts.
[[nodiscard]] Loading preload(const PlacedOp& placed);

/// A tensor at rest, written back once: of the cores that hold a piece of it the first sends it.
[[nodiscard]] Loading store(const ir::Graph& graph, const ir::Store& store,
                            const partition::Layout& rest, const chip::Chip& chip);

}  // namespace elk::program
