#pragma once

#include <string>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/program/code/code.hpp"
#include "elk/program/expand/expander.hpp"
#include "elk/sim/play/call_times.hpp"
#include "elk/sim/play/trace.hpp"
#include "elk/sim/play/work.hpp"

namespace elk::sim {

/// A program with its expander and what is known of each execution, or null.
struct Expanded {
  const program::Program& program;
  const program::Expander& expander;
  Table<ExecutionId, ExecutedOnce> known;
  Executions* kept = nullptr;  // of programs before, by keys of the chip as in `Simulation`
  std::string machine = {};
  std::string memory = {};
};

/// Works out what an execution does, and on which cores.
[[nodiscard]] ExecutedOnce executed(const ir::Graph& graph, const program::Expander& expander,
                                    OpId op, StageLowering& works);

/// What `make` makes, from what is kept of programs before if anything is; `machine` is the key.
template <class Make>
[[nodiscard]] ExecutedOnce keep_executed(Executions* kept, const std::string& machine,
                                         const program::Expander& expander, OpId op,
                                         const Make& make) {
  if (kept == nullptr) {
    return make();
  }
  return kept->executed.find_or_make(machine + expander.signature(op), make,
                                     [](const ExecutedOnce& made) { return bytes_of(*made); });
}

/// Whether an op is a product or a convolution.
[[nodiscard]] bool is_matrix(const ir::Op& op);

/// Turns a program into what its instructions ask of the machine (design 7).
///
/// Throws InvalidInput for a program that waits for a preload it never issues.
[[nodiscard]] Trace lower(const ir::Graph& graph, const chip::Chip& chip, Expanded expanded,
                          const CallTimes& tiles, Fidelity fidelity);

}  // namespace elk::sim
