#pragma once

#include <cstdint>
#include <vector>

#include "elk/analyze/cell_set.hpp"

namespace elk::analyze {

/// The free ranges of a memory, each as long as can be, and the largest of them.
class FreeRanges {
 public:
  /// No cell is free. `edges`: where each begins, and the memory's size.
  explicit FreeRanges(const Table<CellId, std::int64_t>& edges);

  /// Takes `cells`, all of which are free.
  void take(const CellRange& cells);
  /// Frees `cells`, none of which is.
  void give(const CellRange& cells);

  /// In bytes; 0: nothing is free.
  [[nodiscard]] std::int64_t largest() const { return longest_[1]; }

 private:
  struct Place {
    std::int64_t byte;  // at which the cell begins
    CellId end;         // of the range that begins here, or none
    CellId begin;       // of the last range that ended here, which may be gone, or none
  };

  void put(const CellRange& cells);
  void drop(CellId begin);
  void set_length(CellId begin, std::int64_t bytes);

  CellSet begins_;  // of the ranges
  Table<CellId, Place> places_;
  std::vector<std::int64_t> longest_;  // a tree: bytes by first cell, above them the larger of two
};

}  // namespace elk::analyze
