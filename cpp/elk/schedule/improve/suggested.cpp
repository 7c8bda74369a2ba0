#include "elk/schedule/improve/suggested.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/schedule/bound/neighbour_bound.hpp"

namespace elk::schedule {
namespace {

/// The cut as a plan in which nothing rotates, with the preload that holds most.
std::optional<Choice> choice_of(Problem& problem, std::int32_t op,
                                const std::vector<std::int64_t>& factors, Bytes room) {
  const ir::Op& node = problem.graph().ops[subscript(op)];
  const std::optional<partition::ExecutePlan> plan = partition::complete_plan(
      problem.graph(), node, factors, std::vector<std::vector<std::int64_t>>(node.operands.size()),
      problem.chip());
  if (!plan) {
    return {};
  }
  Choice result{.option = problem.add(op, *plan), .state = 0};
  const cost::PlanOption& option = problem.option(op, result);
  if (option.footprint.space > room || option.states.empty()) {
    return {};
  }
  const auto most = std::max_element(
      option.states.begin(), option.states.end(),
      [](const cost::PreloadState& a, const cost::PreloadState& b) { return a.space < b.space; });
  result.state = static_cast<std::int32_t>(most - option.states.begin());
  return result;
}

}  // namespace

std::vector<std::vector<Choice>> suggested(Problem& problem, Bytes room) {
  const std::vector<std::vector<std::int64_t>> cuts = neighbour_cuts(problem);
  std::vector<std::vector<Choice>> result(problem.fronts().size());
  std::set<std::pair<std::int32_t, std::vector<std::int64_t>>> known;
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    const std::vector<std::int64_t>& factors = cuts[subscript(op)];
    const std::int32_t front = problem.front_of()[subscript(op)];
    if (factors.empty() || !known.emplace(front, factors).second) {
      continue;
    }
    if (const std::optional<Choice> choice = choice_of(problem, op, factors, room)) {
      result[subscript(front)].push_back(*choice);
    }
  }
  return result;
}

}  // namespace elk::schedule
