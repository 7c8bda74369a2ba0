#pragma once

#include <cstddef>
#include <cstdint>

#include "elk/base/ids.hpp"
#include "elk/ir/graph.hpp"
#include "elk/sim/play/executions.hpp"
#include "elk/sim/play/run.hpp"

namespace elk::sim {

/// Writes down in a run what happens, whoever plays it.
class RunBook {
 public:
  RunBook(const ir::Graph& graph, Run& run) : graph_(graph), run_(run) {}

  /// A preload or store moves what it asks for.
  void add_load(const Demand& demand);
  void add_preload(std::int32_t op, const Demand& demand);

  /// An op does the work of its execution, in all.
  void add_work(std::int32_t op, std::int32_t execution, const ExecuteRecord& executed);

  /// A stage of an op took `time`, its synchronisation at the start, and `late` more than with
  /// nothing else on the machine; a shift hidden in it then outlasts its calls by `exposed`.
  void add_stage(std::int32_t op, const Stage& stage, Interval<Picoseconds> time, Picoseconds late,
                 Picoseconds exposed);

 private:
  void record(OpRun& row, const Phase& next);

  const ir::Graph& graph_;
  Run& run_;
};

}  // namespace elk::sim
