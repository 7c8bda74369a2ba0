#pragma once

#include <vector>

#include "elk/analyze/accesses.hpp"
#include "elk/base/ids.hpp"
#include "elk/ir/graph.hpp"
#include "elk/program/code/code.hpp"

namespace elk::analyze {

/// What the instructions of a program do with memories. Every instruction is two of the list: a
/// buffer is written by the first of the two from which on it is there, and read by the second of
/// those until which it is needed, so that all buffers of an execute are in use during both.
struct ProgramAccesses {
  AccessList list;
  std::vector<TensorId> tensors;  // in HBM, each a memory: those that the program stores
};

/// Memory 0 is the SRAM of a core, `room` bytes of it; a memory for each of `tensors` follows.
[[nodiscard]] ProgramAccesses accesses(const ir::Graph& graph, Bytes room,
                                       const program::Program& program);

}  // namespace elk::analyze
