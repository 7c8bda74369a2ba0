#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elk/analyze/accesses.hpp"

namespace elk::analyze {

/// A cell of a memory: a run of bytes that no access tells apart.
using CellId = Id<struct CellKind>;
using CellRange = Interval<CellId>;

/// An access that counts in cells.
struct CellAccess {
  InstructionId instruction;
  MemoryId memory;
  CellRange cells;
  bool writes;
};

/// Accesses, and the cells of memories that they tell apart.
struct CellList {
  std::vector<CellAccess> accesses;                    // by instruction
  Table<MemoryId, Table<CellId, std::int64_t>> edges;  // where each cell begins; the size

  /// What one instruction reads and writes.
  [[nodiscard]] std::span<const CellAccess> of(InstructionId instruction) const;
  /// All cells of a memory.
  [[nodiscard]] CellRange all(MemoryId memory) const {
    return {CellId{0}, edges[memory].end_id() - 1};
  }
};

/// The cells of valid accesses, which are sorted by instruction, to memories of these sizes.
[[nodiscard]] CellList in_cells(std::span<const MemoryAccess> accesses,
                                const Table<MemoryId, std::int64_t>& sizes);

}  // namespace elk::analyze
