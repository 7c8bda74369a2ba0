#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "elk/emulate/machine/job.hpp"
#include "elk/emulate/machine/site.hpp"
#include "elk/emulate/machine/tape.hpp"
#include "elk/emulate/memory/book.hpp"
#include "elk/program/expand/expander.hpp"

namespace elk::emulate {

/// One sending of the same bytes: to all of `cores` at once, or from one of them. Without cores: of
/// a gather all cores in equal shares, of a collective other chips.
struct Parcel {
  std::vector<std::int32_t> cores;
  std::int64_t bytes;
  std::int64_t runs;  // contiguous at the receiver

  friend bool operator==(const Parcel&, const Parcel&) = default;
};

/// A piece of an operand in the memory of a core: its indices, stored densely, at `places` in turn.
/// What rotates lies in a circle along its rotated dimension.
struct Area {
  std::int32_t tensor;
  std::vector<partition::Indices> box;  // of every dimension
  std::vector<Segment> places;
};

/// One instruction of one core. What an action has no use for is empty, 0 or -1.
struct CoreInstruction {
  Action action = Action::Allocate;
  std::int32_t op = -1;
  std::int64_t number = 0;  // of the step that is computed or just was; of the round of a reduce
  std::int32_t until = -1;  // of an allocation: the last instruction of the program that needs it
  program::Role role = program::Role::Execute;  // of an allocation
  std::vector<Area> areas;  // what it fills, or stores; of a compute all operands
  std::int64_t bytes = 0;   // allocated, loaded or stored
  std::vector<Parcel> from;
  std::vector<Parcel> to;
  std::int64_t loads = 0;         // of a shift: of the transfer buffer
  std::vector<Ranges> sub_tasks;  // of a compute: ranges of all axes, in parts where they wrap
  std::int64_t parts = 0;         // of a reduce: that are added up ...
  std::int64_t elements = 0;      // ... of so many elements each
};

/// The instructions of every core: the expansion that the simulator times, at the addresses of the
/// program's buffers.
class Coder {
 public:
  explicit Coder(const EmulationJob& job);

  /// What each of `cores` does for instruction number `position` of the program, in order.
  ///
  /// Throws InvalidInput for an operand that rotates along two dimensions.
  [[nodiscard]] std::vector<std::vector<CoreInstruction>> at(std::int32_t position,
                                                             std::span<const std::int32_t> cores);

 private:
  const program::Execution& execution(std::int32_t op);

  const EmulationJob job_;
  BufferBook book_;
  program::Spaces spaces_;
  program::Expander expander_;
  std::map<std::int32_t, program::Execution> known_;  // by Expander::execution_of
};

}  // namespace elk::emulate
