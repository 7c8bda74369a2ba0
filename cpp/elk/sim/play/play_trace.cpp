#include "elk/sim/play/play_trace.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/watch.hpp"
#include "elk/sim/play/run_book.hpp"

namespace elk::sim {
namespace {

class TracePlayer {
 public:
  TracePlayer(const Trace& trace, const Onlooker& onlooker)
      : trace_(trace), onlooker_(onlooker), player_(trace, watcher()), book_(run_) {
    run_.fidelity = trace.fidelity;
    run_.ops.resize(trace.ops);
    for (OpRun& row : run_.ops) {
      row.parts.assign(kPhaseKinds, Picoseconds{0});
    }
    run_.cores.resize(trace.executions.size());
  }

  /// Plays the first `steps` instructions.
  void play(std::size_t steps) {
    for (std::size_t s = 0; s < steps; ++s) {
      Watch::check();
      const TraceStep& step = trace_.steps[s];
      if (step.instruction.opcode == program::Opcode::Execute) {
        execute(step);
      } else if (step.load != LoadId::none) {
        issue(step);
      }
    }
  }

  [[nodiscard]] PlayState state() const { return player_.state(); }

  Run finish() {
    run_.total = player_.now();
    for (const JobId job : player_.jobs().ids()) {
      if (trace_.ends && player_.jobs()[job].instruction.opcode == program::Opcode::Store) {
        player_.wait(job);
        run_.total = std::max(run_.total, player_.jobs()[job].end);
      }
    }
    for (const QueueEntry& job : player_.jobs()) {
      book_.add_transfer(job, *trace_.loads[job.load], run_.total);
    }
    run_.split = player_.split();
    return std::move(run_);
  }

 private:
  Watcher watcher() {
    if (!onlooker_.stretch) {
      return {};
    }
    return [this](const Stretch& stretch) { onlooker_.stretch(stretch, step_, stage_); };
  }

  void issue(const TraceStep& step) {
    const Demand& demand = *trace_.loads[step.load];
    player_.push(step.instruction, step.load);
    if (step.instruction.opcode == program::Opcode::Preload) {
      book_.add_preload(step.instruction.op(), demand);
    } else {
      book_.add_load(demand);
    }
  }

  void execute(const TraceStep& step) {
    const OpId op = step.instruction.op();
    OpRun& row = run_.ops[op];
    row.queued = static_cast<std::int32_t>(player_.waiting());
    const Picoseconds reached = player_.now();
    if (step.waits != JobId::none) {
      player_.wait(step.waits);
    }
    row.waited = player_.now() - reached;
    row.execute.begin = player_.now();
    const ExecuteRecord& executed = *trace_.executions[step.execution];
    book_.add_work(op, step.execution, executed, step.matrix);
    step_ = &step;
    for (const Stage& stage : executed.work.stages) {
      play(op, stage);
    }
    step_ = nullptr;
    row.execute.end = player_.now();
  }

  /// Plays the repetitions of a stage: steps that shift nothing, or one exchange.
  void play(OpId op, const Stage& stage) {
    const Picoseconds begin = player_.now();
    if (stage.sync.value > 0) {
      player_.pass(stage.sync);
    }
    stage_ = &stage;
    const PhaseRecord played = player_.play(stage.demand());
    stage_ = nullptr;
    const Interval<Picoseconds> time{begin, player_.now()};
    book_.add_stage(op, stage, time, played.end - played.begin - played.alone, stage.exposed);
    if (onlooker_.stage) {
      onlooker_.stage(*step_, stage, time);
    }
  }

  const Trace& trace_;
  const Onlooker& onlooker_;
  const TraceStep* step_ = nullptr;
  const Stage* stage_ = nullptr;
  Player player_;
  Run run_;
  RunBook book_;
};

}  // namespace

Run play(const Trace& trace, const Onlooker& onlooker) {
  TracePlayer player(trace, onlooker);
  player.play(trace.steps.size());
  return player.finish();
}

PlayState state_before(const Trace& trace, std::size_t step) {
  const Onlooker nobody;
  TracePlayer player(trace, nobody);
  player.play(step);
  return player.state();
}

}  // namespace elk::sim
