#include "elk/schedule/timing/evaluate.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/chip/delivery.hpp"
#include "elk/cost/exchange/store.hpp"
#include "elk/schedule/timing/idle.hpp"

namespace elk::schedule {
namespace {

/// What the links between a grid and its modules let through together; off a grid, without limit.
double edge_rate(const chip::Chip& chip) {
  if (!chip::routed(chip)) {
    return std::numeric_limits<double>::infinity();
  }
  std::size_t nodes = 0;
  for (const std::vector<CoreId>& module : chip::attached_cores(chip)) {
    nodes += module.size();
  }
  return static_cast<double>(nodes) * chip.interconnect.link_rate;
}

void add_part(const OpSituation& part, OpId op, Situation& result) {
  result.works.push_back(part.work);
  result.loads.push_back(part.load);
  result.piece.push_back(part.piece);
  result.rest.push_back(part.rest);
  result.base[op] += part.own;
}

/// The situation of no op yet.
Situation beginning(const Problem& problem, const Table<OpId, Choice>& choices) {
  Situation result{.works = {},
                   .loads = {},
                   .base = live_bytes(problem, choices),
                   .piece = {},
                   .rest = {},
                   .idle = {0}};
  result.works.reserve(choices.size());
  IdleBytes idle(problem);
  for (const OpId i : choices.ids()) {
    idle.add(i, choices[i]);
  }
  result.idle = idle.total();
  return result;
}

}  // namespace

OpId last_use(const Problem& problem, TensorId tensor) {
  const program::Lifetimes& lives = problem.lives();
  OpId last = std::max(lives.last_reader[tensor], lives.producer[tensor]);
  if (lives.stored[tensor] != 0) {
    const auto next = static_cast<std::size_t>(problem.rank(lives.producer[tensor])) + 1;
    const bool any = next < problem.loaded().size();
    last = std::max(last, any ? problem.loaded()[next] : OpId{problem.op_count() - 1});
  }
  return last;
}

OpSituation part(const Problem& problem, OpId op, const Choice& choice, const InPlaceCost& in_place,
                 TimingRules rules) {
  const cost::PlanOption& option = problem.option(op, choice);
  const cost::PreloadState& state = problem.state(op, choice);
  OpSituation result{.work = work(option, state, in_place.gather),
                     .load = {.time = {0.0}, .share = 0.0, .port = 0.0},
                     .own = in_place.copies,
                     .piece = {0},
                     .rest = option.footprint.rest};
  if (rules == TimingRules::Ideal) {
    result.work.in = moving(in_place.gather);
  }
  if (problem.is_loaded(op)) {
    result.load = load(state, problem.chip());
    result.piece = state.space;
  }
  if (problem.waits(op)) {
    result.own += hbm_bytes(problem, option) - (state.space - state.spread);
  }
  return result;
}

Bytes hbm_bytes(const Problem& problem, const cost::PlanOption& option) {
  const auto& tensors = problem.graph().tensors;
  Bytes sum{0};
  for (std::size_t k = 0; k < option.footprint.tensors.size(); ++k) {
    if (ir::in_hbm(tensors[option.footprint.tensors[k]])) {
      sum += option.footprint.tensor[k];
    }
  }
  return sum;
}

Table<OpId, Bytes> live_bytes(const Problem& problem, const Table<OpId, Choice>& choices) {
  const ir::Graph& graph = problem.graph();
  const program::Lifetimes& lives = problem.lives();
  const auto size = [&](TensorId t) {
    const OpId made = lives.producer[t];
    if (made != OpId::none) {
      return problem.option(made, choices[made]).footprint.rest;
    }
    const bool input = graph.tensors[t].home == ir::Home::Input;
    return input ? partition::spread_share(graph.tensors[t], problem.chip()) : Bytes{0};
  };
  return program::alive(graph, lives, size, [&](TensorId t) { return last_use(problem, t); });
}

Situation situation(Problem& problem, const Table<OpId, Choice>& choices, TimingRules rules) {
  Situation result = beginning(problem, choices);
  for (const OpId i : choices.ids()) {
    add_part(part(problem, i, choices[i], problem.in_place(i, choices), rules), i, result);
  }
  return result;
}

Situation estimate(const Problem& problem, const Table<OpId, Choice>& choices) {
  Situation result = beginning(problem, choices);
  for (const OpId i : choices.ids()) {
    const cost::PlanOption& option = problem.option(i, choices[i]);
    const partition::Footprint& space = option.footprint;
    const InPlaceCost nowhere{.gather = option.gather,
                              .copies = space.space - space.rest - hbm_bytes(problem, option)};
    add_part(part(problem, i, choices[i], nowhere), i, result);
  }
  return result;
}

std::vector<ir::Store> stores(const Problem& problem) {
  if (!problem.chip().hbm) {
    return {};
  }
  std::vector<ir::Store> result = problem.graph().stores;
  const auto is_earlier = [](const ir::Store& a, const ir::Store& b) { return a.op < b.op; };
  if (!std::is_sorted(result.begin(), result.end(), is_earlier)) {
    std::stable_sort(result.begin(), result.end(), is_earlier);
  }
  return result;
}

std::vector<cost::WriteBack> write_backs(const Problem& problem, const Table<OpId, Bytes>& rest) {
  const chip::Chip& chip = problem.chip();
  std::vector<cost::WriteBack> result;
  const std::vector<ir::Store> written = stores(problem);
  const double edge = written.empty() ? 1.0 : edge_rate(chip) * static_cast<double>(chip.chips);
  for (const ir::Store& store : written) {
    const Bytes whole = ir::bytes(problem.graph().tensors[store.tensor]);
    const auto held = static_cast<double>(rest[store.op].value);
    const Seconds port{held / chip.interconnect.link_rate};
    const Seconds wire = std::max(port, Seconds{static_cast<double>(whole.value) / edge});
    const Seconds time = std::max(cost::store_time(chip, whole, store.run), wire);
    result.push_back({.op = store.op, .tensor = store.tensor, .load = {}});
    if (time.value > 0.0) {
      result.back().load = {
          .time = time, .share = wire.value / time.value, .port = port.value / time.value};
    }
  }
  return result;
}

cost::TimelineResult timing(const Problem& problem, const Situation& situation,
                            const std::vector<OpId>& order,
                            const Table<OpId, std::int32_t>& issued_before) {
  return cost::forecast({.works = situation.works,
                         .loads = situation.loads,
                         .preload_order = order,
                         .issued_before = issued_before,
                         .write_backs = write_backs(problem, situation.rest)},
                        sharing(problem.chip()));
}

}  // namespace elk::schedule
