#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "elk/analyze/cells.hpp"

namespace elk::analyze {

/// Some of the cells of a memory. Whatever is asked takes as many steps as the number of cells has
/// digits to base 64.
class CellSet {
 public:
  /// None of the cells up to and including `last`.
  explicit CellSet(CellId last) {
    do {
      last = word_of(last);
      levels_.emplace_back(last.index() + 1);
    } while (last > CellId{0});
  }

  void insert(CellId cell) {
    for (Words& level : levels_) {
      std::uint64_t& word = level[word_of(cell)];
      const bool known = word != 0;  // to the levels above
      word |= bit_of(cell);
      if (known) {
        return;
      }
      cell = word_of(cell);
    }
  }

  void erase(CellId cell) {
    for (Words& level : levels_) {
      std::uint64_t& word = level[word_of(cell)];
      word &= ~bit_of(cell);
      if (word != 0) {
        return;
      }
      cell = word_of(cell);
    }
  }

  /// The last one of the set up to `cell`; there must be one.
  [[nodiscard]] CellId last(CellId cell) const {
    std::size_t level = 0;
    std::uint64_t word = 0;
    for (;; ++level, cell = word_of(cell) - 1) {
      word = levels_[level][word_of(cell)] << (63 - cell.value % 64);
      if (word != 0) {
        break;
      }
    }
    cell = cell - std::countl_zero(word);
    while (level > 0) {
      --level;
      cell = CellId{cell.value * 64 + (63 - std::countl_zero(levels_[level][cell]))};
    }
    return cell;
  }

 private:
  using Words = Table<CellId, std::uint64_t>;

  static CellId word_of(CellId cell) { return CellId{cell.value / 64}; }
  static std::uint64_t bit_of(CellId cell) { return std::uint64_t{1} << (cell.value % 64); }

  // The first has a bit for every cell, each above it one for every word of the level below, which
  // is a cell to it.
  std::vector<Words> levels_;
};

}  // namespace elk::analyze
