#include "elk/schedule/timing/idle.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

namespace elk::schedule {

IdleBytes::IdleBytes(const Problem& problem)
    : problem_(problem), readers_(problem.chip().hbm ? 0 : problem.graph().tensors.size(), 0) {}

void IdleBytes::change(OpId op, const Choice& choice, std::int32_t sign) {
  if (problem_.chip().hbm) {
    return;
  }
  const cost::PreloadState& state = problem_.state(op, choice);
  total_ += (state.space - state.spread) * sign;
  const ir::Graph& graph = problem_.graph();
  for (OperandId k{0}; state.spread > Bytes{0} && k.index() < state.divisor.size(); ++k) {
    const ir::Operand& operand = graph.ops[op].operands[k];
    if (state.divisor[k] != 0 || !partition::from_hbm(graph, operand) ||
        partition::first_like(graph.ops[op], k) != k) {
      continue;
    }
    std::int32_t& readers = readers_[operand.tensor];
    const bool alone = readers == (sign > 0 ? 0 : 1);
    readers += sign;
    if (alone) {
      total_ += partition::spread_share(graph.tensors[operand.tensor], problem_.chip()) * sign;
    }
  }
}

std::vector<IdleChoice> idle_choices(const cost::Front& front, const Contention& contention,
                                     Gathers gathers) {
  std::vector<IdleChoice> all;
  for (std::size_t option = 0; option < front.options.size(); ++option) {
    const cost::PlanOption& plan = front.options[option];
    for (std::size_t k = 0; k < plan.states.size(); ++k) {
      const cost::PreloadState& state = plan.states[k];
      all.push_back(
          {.choice = {.option = static_cast<std::int32_t>(option),
                      .state = static_cast<std::int32_t>(k)},
           .idle = state.space,
           .active = plan.footprint.space - (state.space - state.spread),
           .seconds = contention.seconds(
               work(plan, state, gathers == Gathers::Nothing ? cost::kNoExchange : plan.gather))});
    }
  }
  std::sort(all.begin(), all.end(), [](const IdleChoice& a, const IdleChoice& b) {
    return std::tie(a.idle, a.active, a.seconds, a.choice) <
           std::tie(b.idle, b.active, b.seconds, b.choice);
  });
  std::vector<IdleChoice> result;
  for (const IdleChoice& one : all) {
    const cost::PlanOption& plan = front.options[subscript(one.choice.option)];
    const double spared =
        gathers == Gathers::Perhaps
            ? contention.seconds({.in = moving(plan.gather), .compute = {0.0}, .out = {}})
            : 0.0;
    if (std::none_of(result.begin(), result.end(), [&](const IdleChoice& other) {
          return other.active <= one.active && other.seconds <= one.seconds - spared;
        })) {
      result.push_back(one);
    }
  }
  return result;
}

std::int32_t largest_state(const cost::PlanOption& plan, Bytes most) {
  for (std::size_t k = 0; k < plan.states.size(); ++k) {
    if (plan.states[k].space <= most) {
      return static_cast<std::int32_t>(k);
    }
  }
  return static_cast<std::int32_t>(plan.states.size()) - 1;
}

}  // namespace elk::schedule
