#include "elk/analyze/free_ranges.hpp"

#include <algorithm>
#include <cstddef>

namespace elk::analyze {

FreeRanges::FreeRanges(const Table<CellId, std::int64_t>& edges)
    : begins_(edges.end_id()), longest_(2 * edges.size()) {
  places_.reserve(edges.size());
  for (const std::int64_t byte : edges) {
    places_.push_back({.byte = byte, .end = CellId::none, .begin = CellId::none});
  }
}

void FreeRanges::take(const CellRange& cells) {
  const CellId begin = begins_.last(cells.begin);
  const CellId end = places_[begin].end;
  if (begin < cells.begin) {
    put({begin, cells.begin});
  } else {
    drop(begin);
  }
  if (cells.end < end) {
    put({cells.end, end});
  }
}

void FreeRanges::give(const CellRange& cells) {
  CellRange range = cells;
  if (const CellId end = places_[cells.end].end; end != CellId::none) {
    range.end = end;
    drop(cells.end);
  }
  const CellId begin = places_[cells.begin].begin;
  if (begin != CellId::none && places_[begin].end == cells.begin) {
    range.begin = begin;
  }
  put(range);
}

void FreeRanges::put(const CellRange& cells) {
  Place& begin = places_[cells.begin];
  Place& end = places_[cells.end];
  begins_.insert(cells.begin);
  begin.end = cells.end;
  end.begin = cells.begin;
  set_length(cells.begin, end.byte - begin.byte);
}

void FreeRanges::drop(CellId begin) {
  begins_.erase(begin);
  places_[begin].end = CellId::none;
  set_length(begin, 0);
}

void FreeRanges::set_length(CellId begin, std::int64_t bytes) {
  std::size_t place = longest_.size() / 2 + begin.index();
  longest_[place] = bytes;
  while (place > 1) {
    place /= 2;
    const std::int64_t longer = std::max(longest_[2 * place], longest_[2 * place + 1]);
    if (longest_[place] == longer) {
      return;
    }
    longest_[place] = longer;
  }
}

}  // namespace elk::analyze
