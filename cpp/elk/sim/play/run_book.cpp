#include "elk/sim/play/run_book.hpp"

namespace elk::sim {

void RunBook::add_load(const Demand& demand) {
  run_.totals.hbm += demand.hbm;
  run_.totals.received += demand.received;
  run_.totals.loaded += demand.received;
  run_.totals.hops += demand.hop_bytes;
}

void RunBook::add_preload(std::int32_t op, const Demand& demand) {
  add_load(demand);
  OpRun& row = run_.ops[subscript(op)];
  row.hbm = demand.hbm;
  row.link = demand.busiest;
  row.loaded = demand.received;
  row.load_hops = demand.hop_bytes;
}

void RunBook::add_work(std::int32_t op, std::int32_t execution, const ExecuteRecord& executed) {
  const ExecuteStages& work = executed.work;
  OpRun& row = run_.ops[subscript(op)];
  row.execution = execution;
  row.received = work.received;
  row.exchange = work.exchange;
  row.distribute = work.distribute;
  row.work = work.totals;
  if (run_.cores[subscript(execution)].empty()) {
    run_.cores[subscript(execution)] = executed.cores;
  }
  Totals& totals = run_.totals;
  totals.received += work.totals.received;
  totals.hops += work.totals.hops;
  totals.between += work.totals.between;
  totals.operands += work.totals.operands;
  totals.flops += work.totals.flops;
  const ir::OpKind kind = graph_.ops[subscript(op)].kind;
  const bool matrix = kind == ir::OpKind::MatMul || kind == ir::OpKind::Conv;
  (matrix ? totals.matrix_s : totals.vector_s) += work.totals.matrix_s + work.totals.vector_s;
}

void RunBook::add_stage(std::int32_t op, const Stage& stage, Interval<Picoseconds> time,
                        Picoseconds late, Picoseconds exposed) {
  OpRun& row = run_.ops[subscript(op)];
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
