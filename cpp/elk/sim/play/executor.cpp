#include "elk/sim/play/executor.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/parallel.hpp"
#include "elk/base/watch.hpp"
#include "elk/partition/plan.hpp"
#include "elk/program/expand/expander.hpp"
#include "elk/sim/play/executions.hpp"
#include "elk/sim/play/run_book.hpp"
#include "elk/sim/play/work.hpp"

namespace elk::sim {
namespace {

ExecutedOnce executed(const ir::Graph& graph, const program::Expander& expander, std::int32_t op,
                      StageLowering& works) {
  const program::Execution execution = expander.execution(op);
  return std::make_shared<const ExecuteRecord>(
      ExecuteRecord{.work = works.of(op, graph, execution), .cores = cores_of(execution)});
}

/// A program with its expander and what is known of each execution, or null.
struct Expanded {
  const program::Program& program;
  const program::Expander& expander;
  std::vector<ExecutedOnce> known;
  Executions* kept = nullptr;  // of preloads and stores, by the key of the memory
  std::string memory = {};
};

class Executor {
 public:
  Executor(const ir::Graph& graph, const chip::Chip& chip, Expanded expanded,
           const CallTimes& tiles, Fidelity fidelity)
      : graph_(graph),
        chip_(chip),
        program_(expanded.program),
        expander_(expanded.expander),
        demands_(chip, fidelity),
        works_(chip, demands_, tiles),
        player_(demands_, chip.hbm ? to_latency(chip.hbm->latency) : Picoseconds{0}),
        executed_(std::move(expanded.known)),
        loads_(expanded.kept != nullptr ? &expanded.kept->loads : nullptr),
        memory_(std::move(expanded.memory)),
        load_of_(subscript(expander_.preloads())),
        store_demand_(subscript(expander_.stores())),
        preload_job_(graph.ops.size()),
        book_(graph, run_) {
    run_.fidelity = fidelity;
    run_.ops.resize(graph.ops.size());
    executed_.resize(subscript(expander_.executions()));
    run_.cores.resize(executed_.size());
  }

  Run run() {
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
    finish();
    return std::move(run_);
  }

 private:
  struct StoreJob {
    std::int32_t tensor;
    std::size_t job;
    const Demand* demand;
  };

  void preload(std::int32_t op) {
    const std::int32_t id = expander_.preload_of(op);
    if (id < 0) {
      throw InvalidInput(text("the program preloads op ", op, ", which has nothing in HBM"));
    }
    DemandOnce& demand = load_of_[subscript(id)];
    if (!demand) {
      demand = load([&] { return expander_.preload_signature(op); },
                    [&] { return expander_.preload(op); });
    }
    preload_job_[subscript(op)] = player_.push(demand.get());
    book_.add_preload(op, *demand);
  }

  /// What a preload or store asks for: from what is kept, if anything is.
  template <class Signature, class Moved>
  DemandOnce load(const Signature& signature, const Moved& moved) {
    const auto make = [&] { return std::make_shared<const Demand>(works_.load(moved())); };
    if (loads_ == nullptr) {
      return make();
    }
    return loads_->find_or_make(memory_ + signature(), make,
                                [](const DemandOnce& made) { return bytes_of(*made); });
  }

  void store(std::int32_t tensor) {
    const auto wanted = [&](const ir::Store& store) { return store.tensor == tensor; };
    const auto found = std::find_if(graph_.stores.begin(), graph_.stores.end(), wanted);
    if (!chip_.hbm || found == graph_.stores.end()) {
      return;
    }
    const auto number = static_cast<std::size_t>(found - graph_.stores.begin());
    DemandOnce& demand = store_demand_[subscript(expander_.store_of(number))];
    if (!demand) {
      demand = load([&] { return expander_.store_signature(*found); },
                    [&] { return expander_.store(*found); });
    }
    const std::size_t job = player_.push(demand.get());
    book_.add_load(*demand);
    stores_.push_back({.tensor = tensor, .job = job, .demand = demand.get()});
  }

  void execute(std::int32_t op) {
    OpRun& row = run_.ops[subscript(op)];
    row.queued = static_cast<std::int32_t>(player_.waiting());
    const Picoseconds reached = player_.now();
    if (expander_.preload_of(op) >= 0) {
      if (!preload_job_[subscript(op)]) {
        throw InvalidInput(text("the program executes op ", op, " without its preload"));
      }
      player_.wait(*preload_job_[subscript(op)]);
    }
    row.waited = player_.now() - reached;
    row.parts.assign(kPhaseKinds, Picoseconds{0});
    row.execute.begin = player_.now();
    const ExecuteRecord& executed = executed_by(op);
    book_.add_work(op, expander_.execution_of(op), executed);
    for (const Stage& stage : executed.work.stages) {
      play(op, stage);
    }
    row.execute.end = player_.now();
  }

  const ExecuteRecord& executed_by(std::int32_t op) {
    ExecutedOnce& known = executed_[subscript(expander_.execution_of(op))];
    if (!known) {
      known = executed(graph_, expander_, op, works_);
    }
    return *known;
  }

  /// Numbers what stages ask for.
  std::int32_t number(const Stage& stage) {
    const auto next = static_cast<std::int32_t>(asked_.size());
    return asked_.try_emplace(stage.asks.get(), next).first->second;
  }

  /// Plays the repetitions of a stage: steps that shift nothing, or one exchange.
  void play(std::int32_t op, const Stage& stage) {
    const Picoseconds begin = player_.now();
    if (stage.sync.value > 0) {
      player_.pass(stage.sync);
    }
    const PhaseRecord played = player_.play(stage.demand(), number(stage));
    book_.add_stage(op, stage, {begin, player_.now()}, played.end - played.begin - played.alone,
                    stage.exposed);
  }

  void finish() {
    run_.total = player_.now();
    for (const StoreJob& store : stores_) {
      player_.wait(store.job);
      run_.total = std::max(run_.total, player_.job(store.job).end);
    }
    for (const StoreJob& store : stores_) {
      const QueueEntry& job = player_.job(store.job);
      run_.stores.push_back({.tensor = store.tensor,
                             .store = {job.begin, job.end},
                             .hbm = store.demand->hbm,
                             .moved = store.demand->received,
                             .hops = store.demand->hop_bytes});
    }
    for (std::size_t op = 0; op < preload_job_.size(); ++op) {
      if (preload_job_[op]) {
        const QueueEntry& job = player_.job(*preload_job_[op]);
        run_.ops[op].preload = {job.begin, job.end};
      }
    }
    run_.split = player_.split();
  }

  const ir::Graph& graph_;
  const chip::Chip& chip_;
  const program::Program& program_;
  const program::Expander& expander_;
  Demands demands_;
  StageLowering works_;
  Player player_;
  std::vector<ExecutedOnce> executed_;  // of each execution
  std::unordered_map<const Demand*, std::int32_t> asked_;
  Shelf<std::string, DemandOnce>* loads_;
  std::string memory_;
  std::vector<DemandOnce> load_of_;
  std::vector<DemandOnce> store_demand_;
  std::vector<std::optional<std::size_t>> preload_job_;
  std::vector<StoreJob> stores_;
  Run run_;
  RunBook book_;
};

}  // namespace

Run simulate(const ir::Graph& graph, const chip::Chip& chip, const program::Program& program,
             const CallTimes& tiles, Fidelity fidelity) {
  const program::Expander expander(graph, chip, program.ops);
  return Executor(graph, chip, {.program = program, .expander = expander, .known = {}}, tiles,
                  fidelity)
      .run();
}

std::vector<Run> simulate(const ir::Graph& graph, const chip::Chip& chip,
                          std::span<const program::Program* const> programs,
                          const std::function<CallTimes()>& tiles, const Simulation& how) {
  const std::vector<std::vector<std::int32_t>> classes = program::plan_classes(graph, programs);
  std::vector<program::Expander> expanders;
  expanders.reserve(programs.size());
  for (std::size_t i = 0; i < programs.size(); ++i) {
    expanders.emplace_back(graph, chip, programs[i]->ops, classes[i]);
  }
  struct FirstExecution {
    const program::Expander* expander;
    std::int32_t op;
  };
  std::map<program::Expander::Signature, std::size_t> numbers;
  std::vector<FirstExecution> distinct;
  for (const program::Expander& expander : expanders) {
    for (std::int32_t execution = 0; execution < expander.executions(); ++execution) {
      if (numbers.try_emplace(expander.key_of(execution), distinct.size()).second) {
        distinct.push_back({&expander, expander.first_of(execution)});
      }
    }
  }
  const std::string apart(how.fidelity == Fidelity::Core ? "core" : "alike");
  const std::vector<ExecutedOnce> known = parallel_map(
      distinct,
      [&](const FirstExecution& one) {
        const auto make = [&] {
          const CallTimes times = tiles();
          Demands demands(chip, how.fidelity);
          StageLowering works(chip, demands, times);
          return executed(graph, *one.expander, one.op, works);
        };
        if (how.kept == nullptr) {
          return make();
        }
        return how.kept->executed.find_or_make(
            apart + how.machine + one.expander->signature(one.op), make,
            [](const ExecutedOnce& made) { return bytes_of(*made); });
      },
      how.threads);
  return parallel_map(
      expanders,
      [&](const program::Expander& expander) {
        const auto at = static_cast<std::size_t>(&expander - expanders.data());
        Expanded expanded{.program = *programs[at],
                          .expander = expander,
                          .known = {},
                          .kept = how.kept,
                          .memory = apart + how.memory};
        expanded.known.reserve(subscript(expander.executions()));
        for (std::int32_t execution = 0; execution < expander.executions(); ++execution) {
          expanded.known.push_back(known[numbers.at(expander.key_of(execution))]);
        }
        return Executor(graph, chip, std::move(expanded), tiles(), how.fidelity).run();
      },
      how.threads);
}

}  // namespace elk::sim
