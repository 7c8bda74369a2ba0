#include "elk/sim/play/run_book.hpp"

#include <algorithm>

#include "elk/base/ids.hpp"
#include "elk/base/intervals.hpp"
#include "elk/sim/play/player.hpp"

namespace elk::sim {

void RunBook::add_load(const Demand& demand) {
  run_.totals.hbm += demand.hbm;
  run_.totals.received += demand.received;
  run_.totals.loaded += demand.received;
  run_.totals.hops += demand.hop_bytes;
}

void RunBook::add_preload(OpId op, const Demand& demand) {
  add_load(demand);
  OpRun& row = run_.ops[op];
  row.hbm = demand.hbm;
  row.link = demand.busiest;
  row.loaded = demand.received;
  row.load_hops = demand.hop_bytes;
}

void RunBook::add_transfer(const QueueEntry& job, const Demand& demand, Picoseconds last) {
  const bool over = job.end >= Picoseconds{0};
  last = over ? job.end : last;
  const bool begun = job.begin >= Picoseconds{0};
  TransferRun transfer{.instruction = job.instruction,
                       .issued = job.issued,
                       .begin = begun ? job.begin : last,
                       .first = begun ? std::min(job.first, last) : last,
                       .end = last,
                       .refreshed = job.refreshed,
                       .alone = streaming_alone(demand),
                       .reached = job.reached,
                       .hbm = demand.hbm,
                       .moved = demand.received,
                       .over = over};
  const Picoseconds moving = transfer.end - transfer.first - transfer.refreshed;
  transfer.alone = std::min(transfer.alone, moving);
  add_transfer(transfer, demand);
}

void RunBook::add_transfer(const TransferRun& transfer, const Demand& demand) {
  run_.transfers.push_back(transfer);
  const Interval<Picoseconds> time{transfer.begin, transfer.end};
  if (transfer.instruction.opcode == program::Opcode::Preload) {
    run_.ops[transfer.instruction.op()].preload = time;
    return;
  }
  run_.stores.push_back({.tensor = transfer.instruction.tensor(),
                         .store = time,
                         .hbm = demand.hbm,
                         .moved = demand.received,
                         .hops = demand.hop_bytes});
}

void RunBook::add_work(OpId op, ExecutionId execution, const ExecuteRecord& executed, bool matrix) {
  const ExecuteStages& work = executed.work;
  OpRun& row = run_.ops[op];
  row.execution = execution;
  row.received = work.received;
  row.exchange = work.exchange;
  row.distribute = work.distribute;
  row.work = work.totals;
  if (run_.cores[execution].empty()) {
    run_.cores[execution] = executed.cores;
  }
  Totals& totals = run_.totals;
  totals.received += work.totals.received;
  totals.hops += work.totals.hops;
  totals.between += work.totals.between;
  totals.operands += work.totals.operands;
  totals.flops += work.totals.flops;
  (matrix ? totals.matrix_s : totals.vector_s) += work.totals.matrix_s + work.totals.vector_s;
}

void RunBook::add_stage(OpId op, const Stage& stage, Interval<Picoseconds> time, Picoseconds late,
                        Picoseconds exposed) {
  OpRun& row = run_.ops[op];
  row.synced += stage.sync;
  const bool outlasted = exposed.value > 0;  // The longer of the two is what is drawn out.
  const bool computes = stage.kind == PhaseKind::Compute && !outlasted;
  (computes ? row.sram_contention : row.link_contention) += late;
  const Picoseconds turn = outlasted ? time.end - exposed - late : time.end;
  record(row, {op, stage.kind, {time.begin, turn}, stage.demand().received, stage.core_time});
  if (outlasted) {
    record(row, {op, PhaseKind::Shift, {turn, time.end}, {0}, {0.0}});
  }
}

/// Adds a stretch of time to its op and to the phase that it goes on with.
void RunBook::record(OpRun& row, const Phase& next) {
  row.parts[static_cast<std::size_t>(next.kind)] += next.time.end - next.time.begin;
  std::vector<Phase>& phases = run_.phases;
  if (phases.empty() || phases.back().op != next.op || phases.back().kind != next.kind) {
    phases.push_back(next);
    return;
  }
  phases.back().time.end = next.time.end;
  phases.back().received += next.received;
  phases.back().core_time += next.core_time;
}

}  // namespace elk::sim
