#include "elk/sim/tasks/program_tasks.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/text.hpp"
#include "elk/base/watch.hpp"

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
    switch (instruction.opcode) {
      case program::Opcode::Preload:
        preload(instruction.subject);
        break;
      case program::Opcode::Store:
        store(instruction.subject);
        break;
      case program::Opcode::Execute:
        execute(instruction.subject);
        break;
    }
  }
  return std::move(out_);
}

void ProgramLowering::preload(std::int32_t op) {
  const std::int32_t id = expander_.preload_of(op);
  if (id < 0) {
    throw InvalidInput(text("the program preloads op ", op, ", which has nothing in HBM"));
  }
  auto found = preloads_.find(id);
  if (found == preloads_.end()) {
    found = preloads_.emplace(id, load(expander_.preload(op))).first;
  }
  preload_of_[subscript(op)] = issue(program::Opcode::Preload, op, found->second);
}

void ProgramLowering::store(std::int32_t tensor) {
  const auto wanted = [&](const ir::Store& store) { return store.tensor == tensor; };
  const auto store = std::find_if(graph_.stores.begin(), graph_.stores.end(), wanted);
  if (!chip_.hbm || store == graph_.stores.end()) {
    return;
  }
  const std::int32_t id =
      expander_.store_of(static_cast<std::size_t>(store - graph_.stores.begin()));
  auto found = stores_.find(id);
  if (found == stores_.end()) {
    found = stores_.emplace(id, load(expander_.store(*store))).first;
  }
  issue(program::Opcode::Store, tensor, found->second);
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

void ProgramLowering::execute(std::int32_t op) {
  const std::optional<TaskId> before = preload_of_[subscript(op)];
  if (expander_.preload_of(op) >= 0 && !before) {
    throw InvalidInput(text("the program executes op ", op, " without its preload"));
  }
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

const ProgramLowering::ExecuteLowering& ProgramLowering::lowered(std::int32_t op) {
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
