#include "elk/schedule/improve/alternatives.hpp"

#include <algorithm>
#include <cstddef>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/schedule/improve/align.hpp"
#include "elk/schedule/problem/schedule_tuning.hpp"
#include "elk/schedule/timing/idle.hpp"

namespace elk::schedule {
namespace {

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
    for (std::size_t i = 0; i < steps.size() && found < tuning::kMostStairs; ++i) {
      if (steps[i].space.value <= limit) {
        choices.push_back(steps[i].choice);
        ++found;
      }
    }
  }
}

}  // namespace

std::vector<Choice> likely_choices(const Problem& problem, const cost::Front& front,
                                   const Contention& contention) {
  std::vector<Choice> result;
  if (!problem.chip().hbm) {
    for (const IdleChoice& one : idle_choices(front, contention, Gathers::Perhaps)) {
      result.push_back(one.choice);
    }
    return result;
  }
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

std::optional<Choice> following(Problem& problem, OpId reader, OpId op,
                                const Table<OpId, Choice>& choices) {
  const ir::Op& node = problem.graph().ops[reader];
  for (const OperandId slot : node.operands.ids()) {
    const ir::Operand& operand = node.operands[slot];
    const auto tensor = operand.tensor;
    if (operand.access != ir::Access::Read || problem.lives().producer[tensor] != op) {
      continue;
    }
    const partition::Layout* layout = problem.resting(operand.tensor, choices);
    const auto plan = follow(node, slot, *layout, problem.chip());
    if (const auto option = plan ? problem.add(reader, *plan) : std::nullopt) {
      return Choice{.option = *option, .state = 0};
    }
  }
  return std::nullopt;
}

}  // namespace elk::schedule
