#include "elk/analyze/held_values.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "elk/analyze/cell_map.hpp"
#include "elk/base/errors.hpp"
#include "elk/base/text.hpp"
#include "elk/base/watch.hpp"

namespace elk::analyze {
namespace {

/// What is known so far of the newest value of a cell.
struct NewestValue {
  InstructionId writer;    // none: it was there before the trace
  InstructionId last_use;  // the last instruction that needs it, or none so far

  friend bool operator==(const NewestValue&, const NewestValue&) = default;
};

/// Goes through the accesses to one memory and lists values as others take their place.
class ValueReplay {
 public:
  ValueReplay(const AccessList& list, const CellRange& all)
      : list_(list),
        all_(all),
        newest_(all.end, {.writer = InstructionId::none, .last_use = InstructionId::none}) {}

  void step(InstructionId instruction, std::span<const CellAccess> accesses) {
    for (const CellAccess& access : accesses) {
      if (!access.writes) {
        newest_.update(access.cells, [done = done(instruction)](NewestValue& value) {
          value.last_use = std::max(value.last_use, done);
        });
      }
    }
    for (const CellAccess& access : accesses) {
      if (access.writes) {
        replace(access.cells, instruction);
        newest_.assign(access.cells, {.writer = instruction, .last_use = InstructionId::none});
      }
    }
  }

  [[nodiscard]] Table<ValueId, HeldValue> values() && {
    replace(all_, list_.issues.end_id());
    return std::move(held_);
  }

 private:
  /// The instruction at which what `instruction` does with memories is over.
  [[nodiscard]] InstructionId done(InstructionId instruction) const {
    if (list_.issues[instruction] == 0) {
      return instruction;
    }
    const InstructionId awaited = list_.awaited[instruction];
    return awaited != InstructionId::none ? awaited : list_.issues.end_id();
  }

  /// Lists the values of `cells`, over which instruction `by` writes. One of its own that it
  /// writes once more has never been there.
  void replace(const CellRange& cells, InstructionId by) {
    newest_.each(cells, [&](const CellRange& run, const NewestValue& value) {
      const bool written = value.writer != InstructionId::none;
      const InstructionId begin = written ? value.writer : InstructionId{0};
      if (begin == by) {
        return;
      }
      const bool read = value.last_use != InstructionId::none;
      const InstructionId arrives = written ? std::min(done(begin), by) : begin;
      const InstructionId used_until = std::max(arrives, std::min(value.last_use + 1, by));
      held_.push_back({.cells = run,
                       .writer = value.writer,
                       .begin = begin,
                       .arrives = arrives,
                       .end = read || !written ? used_until : by,
                       .over = by,
                       .read = read});
    });
  }

  const AccessList& list_;
  CellRange all_;
  CellMap<NewestValue> newest_;
  Table<ValueId, HeldValue> held_;
};

}  // namespace

HeldValues held_values(const AccessList& list, MemoryId memory) {
  if (!list.sizes.has(memory)) {
    throw InvalidInput(
        text("memory must be one of ", list.sizes.size(), " memories, got ", memory));
  }
  std::vector<MemoryAccess> own;
  std::ranges::copy_if(list.accesses, std::back_inserter(own),
                       [=](const MemoryAccess& access) { return access.memory == memory; });
  CellList cells = in_cells(own, list.sizes);
  ValueReplay replay(list, cells.all(memory));
  for (const InstructionId i : list.issues.ids()) {
    Watch::check();
    replay.step(i, cells.of(i));
  }
  return {.values = std::move(replay).values(),
          .edges = std::move(cells.edges[memory]),
          .end = list.issues.end_id()};
}

}  // namespace elk::analyze
