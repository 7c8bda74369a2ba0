#include "elk/schedule/timing/evaluate.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/chip/delivery.hpp"
#include "elk/cost/exchange/store.hpp"

namespace elk::schedule {
namespace {

constexpr std::int64_t kWord = 8;

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

Bytes spread_bytes(const Problem& problem, std::int32_t tensor) {
  const Bytes whole = ir::bytes(problem.graph().tensors[static_cast<std::size_t>(tensor)]);
  return {round_up(ceil_div(whole.value, chip::total_cores(problem.chip())), kWord)};
}

void add_part(const OpSituation& part, std::size_t op, Situation& result) {
  result.works.push_back(part.work);
  result.loads.push_back(part.load);
  result.piece.push_back(part.piece);
  result.rest.push_back(part.rest);
  result.base[op] += part.own;
}

/// On a chip without HBM, weights and states stay for the whole program.
void keep_resident(const Problem& problem, const std::vector<Choice>& choices, Situation& result) {
  if (problem.chip().hbm) {
    return;
  }
  Bytes resident{0};
  for (std::size_t i = 0; i < choices.size(); ++i) {
    resident += hbm_bytes(problem, problem.option(static_cast<std::int32_t>(i), choices[i]));
  }
  for (Bytes& base : result.base) {
    base += resident;
  }
}

}  // namespace

std::int32_t last_use(const Problem& problem, std::size_t tensor) {
  const program::Lifetimes& lives = problem.lives();
  std::int32_t last = std::max(lives.last_reader[tensor], lives.producer[tensor]);
  if (lives.stored[tensor] != 0) {
    const auto next = static_cast<std::size_t>(problem.rank(lives.producer[tensor])) + 1;
    const bool any = next < problem.loaded().size();
    last = std::max(last, any ? problem.loaded()[next] : problem.op_count() - 1);
  }
  return last;
}

OpSituation part(const Problem& problem, std::int32_t op, const Choice& choice,
                 const InPlaceCost& in_place, TimingRules rules) {
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
    result.own += hbm_bytes(problem, option) - state.space;
    result.piece = state.space;
  }
  return result;
}

Bytes hbm_bytes(const Problem& problem, const cost::PlanOption& option) {
  const auto& tensors = problem.graph().tensors;
  Bytes sum{0};
  for (std::size_t k = 0; k < option.footprint.tensors.size(); ++k) {
    const ir::Home home = tensors[static_cast<std::size_t>(option.footprint.tensors[k])].home;
    if (home == ir::Home::Weight || home == ir::Home::State) {
      sum += option.footprint.tensor[k];
    }
  }
  return sum;
}

std::vector<Bytes> live_bytes(const Problem& problem, const std::vector<Choice>& choices) {
  const program::Lifetimes& lives = problem.lives();
  std::vector<Bytes> change(choices.size() + 1, Bytes{0});
  for (std::size_t t = 0; t < problem.graph().tensors.size(); ++t) {
    const bool made = lives.producer[t] >= 0;
    const bool input = !made && problem.graph().tensors[t].home == ir::Home::Input;
    const std::int32_t first = made ? lives.producer[t] : lives.first_reader[t];
    if ((!made && !input) || first < 0) {
      continue;
    }
    const Bytes rest =
        made ? problem.option(first, choices[static_cast<std::size_t>(first)]).footprint.rest
             : spread_bytes(problem, static_cast<std::int32_t>(t));
    change[static_cast<std::size_t>(first)] += rest;
    change[static_cast<std::size_t>(last_use(problem, t)) + 1] -= rest;
  }
  std::vector<Bytes> live(choices.size(), Bytes{0});
  Bytes sum{0};
  for (std::size_t i = 0; i < live.size(); ++i) {
    sum += change[i];
    live[i] = sum;
  }
  return live;
}

Situation situation(Problem& problem, const std::vector<Choice>& choices, TimingRules rules) {
  Situation result{
      .works = {}, .loads = {}, .base = live_bytes(problem, choices), .piece = {}, .rest = {}};
  result.works.reserve(choices.size());
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const auto op = static_cast<std::int32_t>(i);
    add_part(part(problem, op, choices[i], problem.in_place(op, choices), rules), i, result);
  }
  keep_resident(problem, choices, result);
  return result;
}

Situation estimate(const Problem& problem, const std::vector<Choice>& choices) {
  Situation result{
      .works = {}, .loads = {}, .base = live_bytes(problem, choices), .piece = {}, .rest = {}};
  result.works.reserve(choices.size());
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const auto op = static_cast<std::int32_t>(i);
    const cost::PlanOption& option = problem.option(op, choices[i]);
    const partition::Footprint& space = option.footprint;
    const InPlaceCost nowhere{.gather = option.gather,
                              .copies = space.space - space.rest - hbm_bytes(problem, option)};
    add_part(part(problem, op, choices[i], nowhere), i, result);
  }
  keep_resident(problem, choices, result);
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

std::vector<cost::WriteBack> write_backs(const Problem& problem, const std::vector<Bytes>& rest) {
  const chip::Chip& chip = problem.chip();
  std::vector<cost::WriteBack> result;
  const std::vector<ir::Store> written = stores(problem);
  const double edge = written.empty() ? 1.0 : edge_rate(chip) * static_cast<double>(chip.chips);
  for (const ir::Store& store : written) {
    const Bytes whole = ir::bytes(problem.graph().tensors[static_cast<std::size_t>(store.tensor)]);
    const auto held = static_cast<double>(rest[static_cast<std::size_t>(store.op)].value);
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
                            const std::vector<std::int32_t>& order,
                            const std::vector<std::int32_t>& issued_before) {
  return cost::forecast({.works = situation.works,
                         .loads = situation.loads,
                         .preload_order = order,
                         .issued_before = issued_before,
                         .write_backs = write_backs(problem, situation.rest)},
                        sharing(problem.chip()));
}

}  // namespace elk::schedule
