#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "partition/ops.hpp"
#include "schedule/problems.hpp"

namespace elk::test {

/// Three or four ops of few cuts, one behind another.
inline ir::Graph few_ops(Random& random) {
  const std::int64_t rows = one_of<std::int64_t, 3>(random, {2, 4, 6});
  const std::int64_t width = one_of<std::int64_t, 3>(random, {8, 10, 12});
  Net net;
  std::int32_t x = net.tensor(ir::Home::Input, {rows, width});
  for (std::int64_t op = 2 + random.below(2); op > 0; --op) {
    switch (random.below(4)) {
      case 0:
        x = net.add(matmul(rows, width, width), {x});
        break;
      case 1:
        x = net.add(softmax(rows, width), {x});
        break;
      case 2:
        x = net.add(bias_add(rows, width), {x});
        break;
      default:
        x = net.add(exp_of(rows, width), {x});
    }
  }
  net.add(exp_of(rows, width), {x}, ir::Home::Output);
  return net.done();
}

/// Of 4 to 6 cores.
inline chip::Chip few_cores(Random& random) {
  chip::Chip chip = tight_chip(one_of<std::int64_t, 3>(random, {4, 5, 6}), 65536);
  chip.interconnect.link_rate = one_of<double, 3>(random, {1e8, 1e9, 8e9});
  chip.interconnect.sync_latency = {one_of<double, 3>(random, {1e-9, 1e-8, 1e-7})};
  chip.interconnect.fragment_latency = {one_of<double, 3>(random, {0.0, 2e-9, 4e-8})};
  return chip;
}

/// What an execute takes alone, behind those chosen before it.
inline double execute_time(schedule::Problem& problem, std::int32_t op,
                           const std::vector<schedule::Choice>& choices) {
  const cost::PlanOption& option = problem.option(op, choices[subscript(op)]);
  return problem.in_place(op, choices).gather.time.value + option.compute.value +
         option.shift.time.value + option.reduce.time.value;
}

/// The least time of all executes over `some` choices of each front, by trial.
inline double least_of(schedule::Problem& problem,
                       const std::vector<std::vector<schedule::Choice>>& some,
                       std::vector<schedule::Choice> choices = {}, double so_far = 0.0) {
  const auto op = static_cast<std::int32_t>(choices.size());
  if (op == problem.op_count()) {
    return so_far;
  }
  double best = std::numeric_limits<double>::infinity();
  choices.emplace_back();
  for (const schedule::Choice& choice : some[subscript(problem.front_of()[subscript(op)])]) {
    choices.back() = choice;
    const double now = so_far + execute_time(problem, op, choices);
    best = std::min(best, least_of(problem, some, choices, now));
  }
  return best;
}

/// The least over every cut.
inline double least_of_all(schedule::Problem& problem) {
  std::vector<std::vector<schedule::Choice>> all;
  for (const cost::Front& front : problem.fronts()) {
    std::vector<schedule::Choice>& choices = all.emplace_back();
    for (std::size_t option = 0; option < front.options.size(); ++option) {
      choices.push_back({.option = static_cast<std::int32_t>(option), .state = 0});
    }
  }
  return least_of(problem, all);
}

}  // namespace elk::test
