#include "elk/sim/tasks/program_tasks.hpp"

#include <memory>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/watch.hpp"
#include "elk/sim/play/issued.hpp"

namespace elk::sim {

ProgramLowering::ProgramLowering(const ir::Graph& graph, const chip::Chip& chip,
                                 const program::Program& program, const CallTimes& tiles)
    : graph_(graph),
      chip_(chip),
      program_(program),
      expander_(graph, chip, program.ops),
      demands_(chip, Fidelity::Core),
      works_(chip, demands_, tiles),
      bodies_(chip, demands_.network()),
      lowered_(subscript(expander_.executions())),
      preload_of_(graph.ops.size()) {
  out_.cores = out_.graph.add_stream();
  out_.memory = out_.graph.add_stream();
}

ProgramTasks ProgramLowering::lower() {
  for (const program::Instruction& instruction : program_.code) {
    Watch::check();
    program::follow(
        instruction, [&](OpId op) { preload(op); }, [&](TensorId tensor) { store(tensor); },
        [&](OpId op) { execute(op); });
  }
  return std::move(out_);
}

void ProgramLowering::preload(OpId op) {
  const std::int32_t id = issued_preload(expander_, op);
  auto found = preloads_.find(id);
  if (found == preloads_.end()) {
    found = preloads_.emplace(id, load(expander_.preload(op))).first;
  }
  preload_of_[op] = issue(program::Opcode::Preload, op.value, found->second);
}

void ProgramLowering::store(TensorId tensor) {
  const std::optional<std::size_t> number = issued_store(graph_, chip_, tensor);
  if (!number) {
    return;
  }
  const std::int32_t id = expander_.store_of(*number);
  auto found = stores_.find(id);
  if (found == stores_.end()) {
    found = stores_.emplace(id, load(expander_.store(graph_.stores[*number]))).first;
  }
  issue(program::Opcode::Store, tensor.value, found->second);
}

ProgramLowering::LoadingLowering ProgramLowering::load(const program::Loading& loading) {
  return {.demand = std::make_shared<const Demand>(works_.load(loading)),
          .body = out_.graph.add(bodies_.of(loading, works_.weight(loading)))};
}

TaskId ProgramLowering::issue(program::Opcode opcode, std::int32_t subject,
                              const LoadingLowering& load) {
  const bool moves = load.demand->stream > Bytes{0};
  const TaskId task =
      out_.graph.add({.stream = out_.memory,
                      .lead = moves && chip_.hbm ? to_latency(chip_.hbm->latency) : Picoseconds{0},
                      .when = Lead::FromRest,
                      .body = moves ? std::optional(load.body) : std::nullopt,
                      .after = last_ ? std::vector{*last_} : std::vector<TaskId>{}});
  out_.loads.push_back({.opcode = opcode, .subject = subject, .demand = load.demand, .task = task});
  return task;
}

void ProgramLowering::execute(OpId op) {
  const std::optional<TaskId> before = preload_of_[op];
  check_preloaded(expander_, op, before.has_value());
  const ExecuteLowering& work = lowered(op);
  const TaskId turn =
      out_.graph.wait(out_.cores, {0}, before ? std::vector{*before} : std::vector<TaskId>{});
  out_.executes.push_back({.op = op,
                           .execution = expander_.execution_of(op),
                           .executed = work.executed,
                           .turn = turn,
                           .last = last_,
                           .preload = before,
                           .issued = out_.loads.size()});
  last_ = turn;
  const std::vector<Stage>& stages = work.executed->work.stages;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    last_ = out_.graph.add({.stream = out_.cores,
                            .lead = stages[s].sync,
                            .when = Lead::Always,
                            .body = work.bodies[s],
                            .after = {}});
  }
}

const ProgramLowering::ExecuteLowering& ProgramLowering::lowered(OpId op) {
  std::optional<ExecuteLowering>& known = lowered_[subscript(expander_.execution_of(op))];
  if (known) {
    return *known;
  }
  const program::Execution execution = expander_.execution(op);
  ExecuteRecord made{.work = works_.of(op, graph_, execution), .cores = cores_of(execution)};
  known.emplace();
  std::map<const Demand*, BodyId> bodies;  // equal stages share what they ask
  for (const Stage& stage : made.work.stages) {
    auto found = bodies.find(stage.asks.get());
    if (found == bodies.end()) {
      const BodyId body = out_.graph.add(bodies_.of(stage, execution));
      found = bodies.emplace(stage.asks.get(), body).first;
    }
    known->bodies.push_back(found->second);
  }
  known->executed = std::make_shared<const ExecuteRecord>(std::move(made));
  return *known;
}

}  // namespace elk::sim
