#pragma once

#include <cstddef>
#include <cstdint>

#include "elk/base/ids.hpp"
#include "elk/base/intervals.hpp"
#include "elk/sim/play/executions.hpp"
#include "elk/sim/play/run.hpp"

namespace elk::sim {

/// Writes down in a run what happens, whoever plays it.
class RunBook {
 public:
  explicit RunBook(Run& run) : run_(run) {}

  /// A preload or store moves what it asks for.
  void add_load(const Demand& demand);
  void add_preload(OpId op, const Demand& demand);

  /// A preload or store ran as its entry says; it is cut off at `last` if it was not over by then.
  void add_transfer(const QueueEntry& job, const Demand& demand, Picoseconds last);
  void add_transfer(const TransferRun& transfer, const Demand& demand);

  /// An op does the work of its execution, in all; `matrix`: a product or a convolution.
  void add_work(OpId op, ExecutionId execution, const ExecuteRecord& executed, bool matrix);

  /// A stage of an op took `time`, its synchronisation at the start, and `late` more than with
  /// nothing else on the machine; a shift hidden in it then outlasts its calls by `exposed`.
  void add_stage(OpId op, const Stage& stage, Interval<Picoseconds> time, Picoseconds late,
                 Picoseconds exposed);

 private:
  void record(OpRun& row, const Phase& next);

  Run& run_;
};

}  // namespace elk::sim
