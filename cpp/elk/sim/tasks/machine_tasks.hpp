#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/intervals.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/sim/flows/share.hpp"

namespace elk::sim {

enum class MachineAction : std::uint8_t { Compute, Issue, Wait };

/// One instruction of anybody's accelerator. Fields that its action does not name are not looked
/// at.
struct MachineInstruction {
  MachineAction action;
  Picoseconds time;      // of a compute
  MemoryId from;         // of an issue: the memory that is read
  MemoryId to;           // of an issue: the memory that is written
  Bytes bytes;           // of an issue
  InstructionId awaits;  // of a wait: the issue that it waits for

  friend bool operator==(const MachineInstruction&, const MachineInstruction&) = default;
};

/// Instructions that run one after another, and the memories between which they move bytes.
struct MachineProgram {
  Table<MemoryId, Rate> memories;  // what each lets through, reads and writes together
  Picoseconds latency;             // from an issue until its transfer asks for its turn
  Table<InstructionId, MachineInstruction> instructions;
};

/// What became of an issue.
struct MachineTransfer {
  InstructionId instruction;  // the issue
  Picoseconds issued;
  Picoseconds ready;    // the latency is over
  Picoseconds begin;    // the turn on its pair of memories
  Picoseconds end;      // the last byte is there
  Picoseconds alone;    // what `begin` to `end` takes with nobody else at its memories
  Picoseconds reached;  // when the first wait for it is reached; -1: nobody waits

  friend bool operator==(const MachineTransfer&, const MachineTransfer&) = default;
};

struct MachineRun {
  Table<InstructionId, Interval<Picoseconds>> instructions;  // a wait from when it is reached
  std::vector<MachineTransfer> transfers;                    // of each issue, in their order
  Picoseconds total;                                         // until the last of both ends
  Table<MemoryId, Bytes> carried;                            // a copy within one memory twice
  Table<MemoryId, Picoseconds> busy;                         // with a transfer at it
};

/// Throws InvalidInput, with the position of the instruction, for what no machine could play: a
/// memory that is not there or has no rate, a time below zero, a latency above a second, more bytes
/// than `kMostFlowBytes` in one issue, a wait for something that is not an issue before it, and
/// what might not end within simulated time.
void validate(const MachineProgram& program);

/// Plays a program as tasks. An issue takes no time. Its latency passes side by side with all
/// others; then transfers of one pair of memories (from, to) go one after another in the order of
/// their issues, and those of different pairs share memories max-min fairly. A wait is over when
/// the transfer is. (xPU-Shark, section 5.2.)
[[nodiscard]] MachineRun play_machine(const MachineProgram& program);

}  // namespace elk::sim
