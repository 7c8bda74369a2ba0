#include "elk/sim/tasks/flow_run.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/intervals.hpp"
#include "elk/sim/play/lowering.hpp"
#include "elk/sim/play/run_book.hpp"
#include "elk/sim/tasks/flow_split.hpp"
#include "elk/sim/tasks/folded_tasks.hpp"
#include "elk/sim/tasks/link_rows.hpp"
#include "elk/sim/tasks/program_tasks.hpp"
#include "elk/sim/tasks/task_player.hpp"

namespace elk::sim {
namespace {

/// Plays bodies that never had the machine to themselves once more, one after another.
void play_alone(const Machine& machine, const TaskGraph& graph,
                std::span<const std::uint8_t> exclusive, std::vector<Picoseconds>& alone) {
  TaskGraph apart;
  const StreamId stream = apart.add_stream();
  std::vector<std::size_t> numbers;
  std::vector<bool> seen(graph.bodies(), false);
  for (const Task& task : graph.tasks()) {
    if (!task.body || alone[task.body->index()] >= Picoseconds{0} || seen[task.body->index()]) {
      continue;
    }
    seen[task.body->index()] = true;
    numbers.push_back(task.body->index());
    apart.play(stream, apart.add(graph.shared(*task.body)));
  }
  const TasksRun run = play_tasks(machine, apart, exclusive);
  for (std::size_t t = 0; t < numbers.size(); ++t) {
    alone[numbers[t]] = run.tasks[t].end - run.tasks[t].begin;
  }
}

/// All that tasks do, on the whole machine or folded.
TasksRun play(const MachineNetwork& network, const TaskGraph& graph,
              std::span<const std::uint8_t> exclusive) {
  if (!exclusive.empty()) {
    TasksRun run = play_tasks(network.machine(), graph, exclusive);
    play_alone(network.machine(), graph, exclusive, run.alone);
    return run;
  }
  const FoldedTasks folded = fold_tasks(network.machine(), graph);
  TasksRun run = play_tasks(folded.machine, folded.graph);
  play_alone(folded.machine, folded.graph, exclusive, run.alone);
  return folded.unfold(std::move(run));
}

/// Writes down what tasks did.
class FlowRun {
 public:
  FlowRun(const ir::Graph& graph, const ProgramTasks& tasks, const TasksRun& played)
      : graph_(graph), tasks_(tasks), played_(played), book_(run_) {
    run_.fidelity = Fidelity::Flows;
    run_.ops.resize(graph.ops.size());
  }

  Run write(std::size_t executions) {
    run_.cores.resize(executions);
    for (const LoadingTask& load : tasks_.loads) {
      load_of_[load.task] = run_.transfers.size();
      write(load);
    }
    for (const ExecuteTasks& execute : tasks_.executes) {
      write(execute);
    }
    wait_for_stores();
    run_.split = split_of(run_.total, stretches_, loads_);
    return std::move(run_);
  }

 private:
  [[nodiscard]] Interval<Picoseconds> span_of(TaskId task) const {
    return played_.tasks[task.index()];
  }

  /// What a task of the memory or of the cores takes with nothing else about, its lead included.
  [[nodiscard]] Picoseconds alone(TaskId id, Picoseconds lead) const {
    const Task& task = tasks_.graph.tasks()[id.index()];
    return lead + (task.body ? played_.alone[task.body->index()] : Picoseconds{0});
  }

  /// By how much a shift that is hidden behind tile calls outlasts them.
  [[nodiscard]] Picoseconds exposed(TaskId id, const Stage& stage, Picoseconds lone) const {
    if (stage.kind != PhaseKind::Compute || stage.origin.sending != SendKind::Shift) {
      return {0};
    }
    Picoseconds calls{0};
    for (const BodyCalls& call :
         tasks_.graph.body(*tasks_.graph.tasks()[id.index()].body).computations()) {
      calls = std::max(calls, call.alone);
    }
    return std::max(Picoseconds{0}, lone - stage.sync - calls);
  }

  void write(const LoadingTask& load) {
    const Interval<Picoseconds> span = span_of(load.task);
    const bool rested = loads_.empty() || loads_.back().time.end != span.begin;
    const Task& task = tasks_.graph.tasks()[load.task.index()];
    const Picoseconds lead = rested && task.body ? task.lead : Picoseconds{0};
    if (span.end > span.begin) {
      loads_.push_back({span, alone(load.task, lead)});
    }
    const bool stores = load.opcode == program::Opcode::Store;
    if (stores) {
      book_.add_load(*load.demand);
      run_.total = std::max(run_.total, span.end);
    } else {
      book_.add_preload(OpId{load.subject}, *load.demand);
    }
    const Picoseconds first = span.begin + lead;
    const Picoseconds moving = alone(load.task, {0});
    book_.add_transfer(
        {.instruction = {.opcode = load.opcode, .subject = load.subject},
         .issued = task.after.empty() ? Picoseconds{0} : span_of(task.after.front()).end,
         .begin = span.begin,
         .first = first,
         .end = span.end,
         .refreshed = {0},
         .alone = std::min(moving, span.end - first),
         .reached = {-1},
         .hbm = load.demand->hbm,
         .moved = load.demand->received,
         .over = true},
        *load.demand);
  }

  void write(const ExecuteTasks& execute) {
    OpRun& row = run_.ops[execute.op];
    const Picoseconds reached = execute.last ? span_of(*execute.last).end : Picoseconds{0};
    while (over_ < execute.issued && span_of(tasks_.loads[over_].task).end <= reached) {
      ++over_;
    }
    row.queued = static_cast<std::int32_t>(execute.issued - std::min(over_, execute.issued));
    row.execute.begin = span_of(execute.turn).end;
    row.waited = row.execute.begin - reached;
    if (execute.preload) {
      run_.transfers[load_of_.at(*execute.preload)].reached = reached;
    }
    row.parts.assign(kPhaseKinds, Picoseconds{0});
    book_.add_work(execute.op, ExecutionId{execute.execution}, *execute.executed,
                   is_matrix(graph_.ops[execute.op]));
    row.execute.end = row.execute.begin;
    TaskId task = execute.turn;
    for (const Stage& stage : execute.executed->work.stages) {
      ++task.value;
      const Interval<Picoseconds> span = span_of(task);
      const Picoseconds lone = alone(task, stage.sync);
      const Picoseconds late = std::max(Picoseconds{0}, span.end - span.begin - lone);
      book_.add_stage(execute.op, stage, span, late, exposed(task, stage, lone));
      stretches_.push_back({span, lone});
      row.execute.end = span.end;
    }
    executed_ = row.execute.end;
    run_.total = std::max(run_.total, row.execute.end);
  }

  /// The program ends with its stores, which it waits for one after another.
  void wait_for_stores() {
    Picoseconds reached = executed_;
    for (TransferRun& transfer : run_.transfers) {
      if (transfer.instruction.opcode == program::Opcode::Store) {
        transfer.reached = reached;
        reached = std::max(reached, transfer.end);
      }
    }
  }

  const ir::Graph& graph_;
  const ProgramTasks& tasks_;
  const TasksRun& played_;
  Run run_;
  RunBook book_;
  std::vector<FlowSpan> stretches_;  // of executes
  std::vector<FlowSpan> loads_;
  std::map<TaskId, std::size_t> load_of_;  // where the transfer of a task stands
  Picoseconds executed_{0};                // the last execute is over
  std::size_t over_ = 0;                   // preloads and stores that are over, the first ones
};

}  // namespace

Run simulate_flows(const ir::Graph& graph, const chip::Chip& chip, const program::Program& program,
                   const CallTimes& tiles, Links links) {
  ProgramLowering lowering(graph, chip, program, tiles);
  const ProgramTasks tasks = lowering.lower();
  const MachineNetwork& network = lowering.network();
  const TasksRun played = play(network, tasks.graph, exclusive_resources(network, chip, links));
  Run run = FlowRun(graph, tasks, played).write(lowering.executions());
  run.links = link_rows(network, chip, played);
  return run;
}

}  // namespace elk::sim
