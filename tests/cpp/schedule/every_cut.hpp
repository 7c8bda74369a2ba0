#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/plan.hpp"
#include "elk/schedule/problem/problem.hpp"

namespace elk::test {

/// Partition factors over time of an op's operands, none of which is split.
inline std::vector<std::vector<std::int64_t>> unturned(const ir::Op& node) {
  std::vector<std::vector<std::int64_t>> whole;
  for (const ir::Operand& operand : node.operands) {
    whole.emplace_back(operand.dims.size(), 1);
  }
  return whole;
}

/// Adds a cut of an op to its front with one operand or none split over time, in every way.
inline void add_turns(schedule::Problem& problem, std::int32_t op,
                      const std::vector<std::int64_t>& factors) {
  const ir::Op& node = problem.graph().ops[subscript(op)];
  const std::vector<std::vector<std::int64_t>> whole = unturned(node);
  for (std::size_t k = 0; k < node.operands.size(); ++k) {
    std::int64_t sharers = 1;
    for (std::size_t axis = 0; axis < factors.size(); ++axis) {
      const bool cuts = partition::contains(node.operands[k], static_cast<std::int32_t>(axis));
      sharers *= cuts ? 1 : factors[axis];
    }
    for (std::size_t dim = 0; dim < whole[k].size(); ++dim) {
      for (std::int64_t parts = 2; parts <= sharers; ++parts) {
        if (sharers % parts == 0 && partition::rotates(node, k, dim)) {
          std::vector<std::vector<std::int64_t>> turned = whole;
          turned[k][dim] = parts;
          if (const auto plan = partition::complete_plan(problem.graph(), node, factors, turned,
                                                         problem.chip())) {
            problem.add(op, *plan);
          }
        }
      }
    }
  }
}

/// Adds every cut of an op to its front, nothing of it split over time but for what `turns`.
inline void add_cuts(schedule::Problem& problem, std::int32_t op,
                     std::vector<std::int64_t>& factors, bool turns = false) {
  const ir::Op& node = problem.graph().ops[subscript(op)];
  std::int64_t cores = chip::total_cores(problem.chip());
  for (const std::int64_t factor : factors) {
    cores /= factor;
  }
  if (factors.size() < node.axes.size()) {
    const bool divisible = partition::divisible(node, static_cast<std::int32_t>(factors.size()));
    for (const std::int64_t factor :
         partition::distinct_factors(node.axes[factors.size()].size, divisible ? cores : 1)) {
      factors.push_back(factor);
      add_cuts(problem, op, factors, turns);
      factors.pop_back();
    }
    return;
  }
  if (const auto plan = partition::complete_plan(problem.graph(), node, factors, unturned(node),
                                                 problem.chip())) {
    problem.add(op, *plan);
  }
  if (turns) {
    add_turns(problem, op, factors);
  }
}

/// Adds the plans of all cuts of every op of a model.
inline void add_cuts(schedule::Problem& problem, bool turns = false) {
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    std::vector<std::int64_t> factors;
    add_cuts(problem, op, factors, turns);
  }
}

}  // namespace elk::test
