#include "elk/sim/play/executor.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/parallel.hpp"
#include "elk/base/table.hpp"
#include "elk/program/expand/expander.hpp"
#include "elk/sim/play/lowering.hpp"
#include "elk/sim/play/play_trace.hpp"
#include "elk/sim/play/work.hpp"

namespace elk::sim {
namespace {

/// Begins the keys of what is kept.
std::string key_of(Fidelity fidelity) { return fidelity == Fidelity::Core ? "core" : "alike"; }

}  // namespace

Run simulate(const ir::Graph& graph, const chip::Chip& chip, const program::Program& program,
             const CallTimes& tiles, Fidelity fidelity) {
  return play(record(graph, chip, program, tiles, {.fidelity = fidelity, .threads = 1}));
}

Trace record(const ir::Graph& graph, const chip::Chip& chip, const program::Program& program,
             const CallTimes& tiles, const Simulation& how) {
  const program::Expander expander(graph, chip, program.ops);
  const std::string apart = key_of(how.fidelity);
  return lower(graph, chip,
               {.program = program,
                .expander = expander,
                .known = {},
                .kept = how.kept,
                .machine = apart + how.machine,
                .memory = apart + how.memory},
               tiles, how.fidelity);
}

std::vector<Run> simulate(const ir::Graph& graph, const chip::Chip& chip,
                          std::span<const program::Program* const> programs,
                          const std::function<CallTimes()>& tiles, const Simulation& how) {
  const std::vector<Table<OpId, std::int32_t>> classes = program::plan_classes(graph, programs);
  std::vector<program::Expander> expanders;
  expanders.reserve(programs.size());
  for (std::size_t i = 0; i < programs.size(); ++i) {
    expanders.emplace_back(graph, chip, programs[i]->ops, classes[i]);
  }
  struct FirstExecution {
    const program::Expander* expander;
    OpId op;
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
  const std::string apart = key_of(how.fidelity);
  const std::vector<ExecutedOnce> known = parallel_map(
      distinct,
      [&](const FirstExecution& one) {
        return keep_executed(how.kept, apart + how.machine, *one.expander, one.op, [&] {
          const CallTimes times = tiles();
          Demands demands(chip, how.fidelity);
          StageLowering works(chip, demands, times);
          return executed(graph, *one.expander, one.op, works);
        });
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
                          .machine = apart + how.machine,
                          .memory = apart + how.memory};
        for (std::int32_t execution = 0; execution < expander.executions(); ++execution) {
          expanded.known.push_back(known[numbers.at(expander.key_of(execution))]);
        }
        return play(lower(graph, chip, std::move(expanded), tiles(), how.fidelity));
      },
      how.threads);
}

}  // namespace elk::sim
