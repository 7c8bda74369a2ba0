#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elk/analyze/held_values.hpp"

namespace elk::analyze {

/// What a transfer writes into a memory.
struct UnreadTransfer {
  InstructionId issue;
  std::int64_t bytes;
  std::int64_t unread;  // how many of them nobody reads before others are written over them

  friend bool operator==(const UnreadTransfer&, const UnreadTransfer&) = default;
};

/// Bytes of a memory at every instruction, by what the newest value of each is good for:
/// used + arriving + idle + free = size. Section 5.3.2 of xPU-Shark (shared/papers).
struct MemoryStates {
  Table<InstructionId, std::int64_t> used;      // there, and yet to be read, or being read
  Table<InstructionId, std::int64_t> arriving;  // by a transfer that nobody has waited for yet
  Table<InstructionId, std::int64_t> idle;      // there, and nobody will read it within the trace
  Table<InstructionId, std::int64_t> free;      // read for the last time, or without a value so far
  Table<InstructionId, std::int64_t> hole;      // the largest range of free bytes
  std::vector<UnreadTransfer> unread;           // of every issue that writes the memory, in order
};

[[nodiscard]] MemoryStates memory_states(const HeldValues& held);

/// Bytes used or arriving in each of `count` blocks of a memory at the instructions `at`, which
/// ascend, block by block. Blocks are of equal size, as far as the memory goes.
[[nodiscard]] std::vector<std::int64_t> blocks(const HeldValues& held, std::int32_t count,
                                               std::span<const InstructionId> at);

}  // namespace elk::analyze
