#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/intervals.hpp"
#include "elk/base/table.hpp"

namespace elk::analyze {

/// Bytes of a memory that an instruction reads or writes; a set of registers is a memory, too.
struct MemoryAccess {
  InstructionId instruction;
  MemoryId memory;
  Interval<std::int64_t> bytes;
  bool writes;
};

/// What the instructions of a trace do with memories.
///
/// An instruction that issues a transfer reads and writes on behalf of it, from then until the
/// first instruction that waits for it: what the transfer brings is not there before, and what it
/// reads may not be written over. Every other instruction first reads and then writes.
struct AccessList {
  Table<InstructionId, std::uint8_t> issues;    // whether it starts a transfer
  Table<InstructionId, std::uint8_t> light;     // whether it may move along with what it prepares
  Table<InstructionId, InstructionId> awaited;  // of an issue: the first that waits for it, or none
  std::vector<MemoryAccess> accesses;           // by instruction
  Table<MemoryId, std::int64_t> sizes;          // in bytes
};

/// Throws `InvalidInput` unless every instruction has its entry in each list, all accesses lie in
/// memories of the list and are sorted by instruction, only issues are awaited, by later
/// instructions, and none of them is light.
void validate(const AccessList& list);

}  // namespace elk::analyze
