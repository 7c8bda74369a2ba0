#include "elk/schedule/improve/alternatives.hpp"

#include <algorithm>
#include <cstddef>

#include "elk/schedule/improve/align.hpp"

namespace elk::schedule {
namespace {

constexpr std::size_t kMostSteps = 6;  // of a staircase that are tried

void add_likely(const StaircaseSteps& steps, std::vector<Choice>& choices) {
  Bytes most{0};
  for (const StaircaseStep& step : steps) {
    most = std::max(most, step.space);
  }
  for (std::int64_t limit = std::int64_t{1} << 40; limit > 0; limit /= 2) {
    if (limit / 2 >= most.value) {
      continue;
    }
    std::size_t found = 0;
    for (std::size_t i = 0; i < steps.size() && found < kMostSteps; ++i) {
      if (steps[i].space.value <= limit) {
        choices.push_back(steps[i].choice);
        ++found;
      }
    }
  }
}

}  // namespace

std::vector<Choice> likely_choices(const cost::Front& front, const Contention& contention) {
  std::vector<Choice> result;
  for (const double late : {1.0, 0.0}) {
    Contention regime = contention;
    regime.late = late;
    add_likely(steps(front, regime), result);
    add_likely(staircase(front, regime), result);
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::optional<Choice> following(Problem& problem, std::int32_t reader, std::int32_t op,
                                const std::vector<Choice>& choices) {
  const ir::Op& node = problem.graph().ops[static_cast<std::size_t>(reader)];
  for (std::size_t slot = 0; slot < node.operands.size(); ++slot) {
    const ir::Operand& operand = node.operands[slot];
    const auto tensor = static_cast<std::size_t>(operand.tensor);
    if (operand.access != ir::Access::Read || problem.lives().producer[tensor] != op) {
      continue;
    }
    const partition::Layout* layout = problem.resting(operand.tensor, choices);
    if (const auto plan = follow(node, slot, *layout, problem.chip())) {
      return Choice{.option = problem.add(reader, *plan), .state = 0};
    }
  }
  return std::nullopt;
}

std::optional<Choice> feeding(Problem& problem, std::int32_t op, std::int32_t reader,
                              const Choice& choice) {
  const ir::Graph& graph = problem.graph();
  const ir::Op& node = graph.ops[static_cast<std::size_t>(reader)];
  for (std::size_t slot = 0; slot < node.operands.size(); ++slot) {
    const std::int32_t tensor = node.operands[slot].tensor;
    if (node.operands[slot].access != ir::Access::Read ||
        problem.lives().producer[static_cast<std::size_t>(tensor)] != op) {
      continue;
    }
    const partition::Layout needed =
        partition::layout(graph, node, slot, problem.option(reader, choice).plan, problem.chip());
    if (const auto plan =
            feed(graph.ops[static_cast<std::size_t>(op)], problem.write_slot(tensor), needed)) {
      return Choice{.option = problem.add(op, *plan), .state = 0};
    }
  }
  return std::nullopt;
}

}  // namespace elk::schedule
