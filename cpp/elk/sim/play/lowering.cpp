#include "elk/sim/play/lowering.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/watch.hpp"
#include "elk/sim/play/issued.hpp"

namespace elk::sim {
namespace {

class TraceLowering {
 public:
  TraceLowering(const ir::Graph& graph, const chip::Chip& chip, Expanded expanded,
                const CallTimes& tiles, Fidelity fidelity)
      : graph_(graph),
        chip_(chip),
        program_(expanded.program),
        expander_(expanded.expander),
        demands_(chip, fidelity),
        works_(chip, demands_, tiles),
        kept_(expanded.kept),
        machine_(std::move(expanded.machine)),
        memory_(std::move(expanded.memory)),
        job_of_(graph.ops.size(), JobId::none),
        out_{.fidelity = fidelity,
             .machine = {.resources = demands_.nothing().kind_of.size(),
                         .hbm_latency = chip.hbm ? to_latency(chip.hbm->latency) : Picoseconds{0},
                         .refresh = demands_.network().machine().refresh},
             .loads = {},
             .executions = std::move(expanded.known),
             .steps = {},
             .start = {},
             .ends = true,
             .ops = graph.ops.size()} {
    out_.executions.resize(subscript(expander_.executions()));
    out_.steps.reserve(program_.code.size());
  }

  Trace lower() {
    for (const program::Instruction& instruction : program_.code) {
      Watch::check();
      out_.steps.push_back({.instruction = instruction});
      program::follow(
          instruction, [&](OpId op) { preload(op); }, [&](TensorId tensor) { store(tensor); },
          [&](OpId op) { execute(op); });
    }
    return std::move(out_);
  }

 private:
  void preload(OpId op) {
    const auto [at, is_new] = preload_at_.try_emplace(issued_preload(expander_, op));
    if (is_new) {
      at->second = add(load([&] { return expander_.preload_signature(op); },
                            [&] { return expander_.preload(op); }));
    }
    job_of_[op] = issue(at->second);
  }

  void store(TensorId tensor) {
    const std::optional<std::size_t> number = issued_store(graph_, chip_, tensor);
    if (!number) {
      return;
    }
    const ir::Store& stored = graph_.stores[*number];
    const auto [at, is_new] = store_at_.try_emplace(expander_.store_of(*number));
    if (is_new) {
      at->second = add(load([&] { return expander_.store_signature(stored); },
                            [&] { return expander_.store(stored); }));
    }
    issue(at->second);
  }

  /// Returns the number of the preload or store.
  JobId issue(LoadId load) {
    out_.steps.back().load = load;
    return jobs_++;
  }

  LoadId add(DemandOnce demand) {
    out_.loads.push_back(std::move(demand));
    return out_.loads.end_id() - 1;
  }

  /// What a preload or store asks for: from what is kept, if anything is.
  template <class Signature, class Moved>
  DemandOnce load(const Signature& signature, const Moved& moved) {
    const auto make = [&] { return std::make_shared<const Demand>(works_.load(moved())); };
    if (kept_ == nullptr) {
      return make();
    }
    return kept_->loads.find_or_make(memory_ + signature(), make,
                                     [](const DemandOnce& made) { return bytes_of(*made); });
  }

  void execute(OpId op) {
    check_preloaded(expander_, op, job_of_[op] != JobId::none);
    TraceStep& step = out_.steps.back();
    step.waits = job_of_[op];
    step.execution = ExecutionId{expander_.execution_of(op)};
    step.matrix = is_matrix(graph_.ops[op]);
    ExecutedOnce& known = out_.executions[step.execution];
    if (!known) {
      known = keep_executed(kept_, machine_, expander_, op,
                            [&] { return executed(graph_, expander_, op, works_); });
    }
  }

  const ir::Graph& graph_;
  const chip::Chip& chip_;
  const program::Program& program_;
  const program::Expander& expander_;
  Demands demands_;
  StageLowering works_;
  Executions* kept_;
  std::string machine_;
  std::string memory_;
  std::map<std::int32_t, LoadId> preload_at_;  // what each distinct preload asks
  std::map<std::int32_t, LoadId> store_at_;
  Table<OpId, JobId> job_of_;  // of each op: its preload, once issued
  JobId jobs_{0};
  Trace out_;
};

}  // namespace

ExecutedOnce executed(const ir::Graph& graph, const program::Expander& expander, OpId op,
                      StageLowering& works) {
  const program::Execution execution = expander.execution(op);
  return std::make_shared<const ExecuteRecord>(
      ExecuteRecord{.work = works.of(op, graph, execution), .cores = cores_of(execution)});
}

bool is_matrix(const ir::Op& op) {
  return op.kind == ir::OpKind::MatMul || op.kind == ir::OpKind::Conv;
}

Trace lower(const ir::Graph& graph, const chip::Chip& chip, Expanded expanded,
            const CallTimes& tiles, Fidelity fidelity) {
  return TraceLowering(graph, chip, std::move(expanded), tiles, fidelity).lower();
}

}  // namespace elk::sim
