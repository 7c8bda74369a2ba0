#pragma once

#include <cstdint>

#include "elk/analyze/cells.hpp"

namespace elk::analyze {

/// A value that some cells of a memory hold until another is written over it, the newest value of
/// a cell being what it holds. Between its instructions, each the first of something new, the cells
///
///     [begin, arrives)  wait for a transfer to bring it,
///     [arrives, end)    hold it for its readers; if nobody reads it, for nobody,
///     [end, over)       are free.
///
/// A reader that issues a transfer is done when that is awaited; one that nobody awaits, never.
struct HeldValue {
  CellRange cells;
  InstructionId writer;  // none: it was there before the trace
  InstructionId begin;   // the writer, or the first instruction
  InstructionId arrives;
  InstructionId end;
  InstructionId over;  // who writes over it, or the end of the trace
  bool read;           // whether anybody does
};

using ValueId = Id<struct HeldValueKind>;

/// The values of one memory.
struct HeldValues {
  Table<ValueId, HeldValue> values;   // in the order of `over`: one for each cell at any time
  Table<CellId, std::int64_t> edges;  // where each cell begins, and the memory's size
  InstructionId end;                  // of the trace

  [[nodiscard]] std::int64_t size() const { return edges.back(); }
  [[nodiscard]] Interval<std::int64_t> bytes(const HeldValue& value) const {
    return {edges[value.cells.begin], edges[value.cells.end]};
  }
};

/// What a memory of a valid list holds. Before the trace there was only what is read and was never
/// written.
[[nodiscard]] HeldValues held_values(const AccessList& list, MemoryId memory);

}  // namespace elk::analyze
