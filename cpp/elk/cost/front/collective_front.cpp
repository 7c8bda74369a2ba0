#include "elk/cost/front/collective_front.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "elk/cost/floor/cuts.hpp"
#include "elk/cost/price/collective_price.hpp"
#include "elk/partition/enumerate.hpp"

namespace elk::cost {
namespace {

constexpr std::int64_t kMostCounted = std::int64_t{1} << 40U;

/// Every choice of one factor an axis whose product is at most `cores`.
class CutList {
 public:
  CutList(const Factors& factors, std::int64_t cores) : factors_(factors), cut_(factors.size(), 1) {
    choose(0, cores);
  }

  [[nodiscard]] std::vector<std::vector<std::int64_t>>& all() { return all_; }

 private:
  void choose(std::size_t axis, std::int64_t cores) {
    if (axis == factors_.size()) {
      all_.push_back(cut_);
      return;
    }
    for (const std::int64_t factor : factors_[axis]) {
      if (factor <= cores) {
        cut_[axis] = factor;
        choose(axis + 1, cores / factor);
      }
    }
    cut_[axis] = 1;
  }

  const Factors& factors_;
  std::vector<std::int64_t> cut_;
  std::vector<std::vector<std::int64_t>> all_;
};

/// Least time between chips of any cut, adds and scatter aside, and least bytes that a core
/// receives.
Corner least_of_links(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip) {
  const partition::CollectiveBytes whole = partition::held_by_chip(graph, op);
  const std::int64_t ports = chip.inter_chip->port_cores;
  const LinkPhase link =
      link_phase(op.kind, whole, {.before = whole.before / ports, .after = whole.after / ports},
                 partition::chips_of(op), chip);
  return {.execute = link.time, .link = {0}, .hbm_bytes = 0};
}

/// Least time of `options` with nothing to gather.
Seconds least_in_place(const std::vector<PlanOption>& options) {
  Seconds least = options.front().shift.time + options.front().reduce.time;
  for (const PlanOption& option : options) {
    least = std::min(least, option.shift.time + option.reduce.time);
  }
  return least;
}

bool sooner(const PlanOption& a, const PlanOption& b) {
  return std::tie(a.time, a.footprint.space, a.plan) < std::tie(b.time, b.footprint.space, b.plan);
}

/// `options`, by time: those that no earlier one beats in space and exchange.
std::vector<PlanOption> pareto(std::vector<PlanOption> options) {
  std::sort(options.begin(), options.end(), sooner);
  std::vector<PlanOption> kept;
  for (PlanOption& option : options) {
    const bool beaten = std::any_of(kept.begin(), kept.end(), [&](const PlanOption& other) {
      return other.footprint.space <= option.footprint.space && other.exchange <= option.exchange;
    });
    if (!beaten) {
      kept.push_back(std::move(option));
    }
  }
  return kept;
}

}  // namespace

Front collective_front(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
                       const tile::TileModel& tiles) {
  const std::int64_t cores = chip::total_cores(chip);
  const Factors all = all_factors(op, cores);
  const Factors factors = spaced_factors(op, all, cores);
  Front front{
      .options = {},
      .counts = {.complete = count_cuts(all, cores, kMostCounted), .filtered = 0, .pareto = 0},
      .fastest = 0,
      .floor = {.execute = {0.0},
                .compute = {0.0},
                .link = {0},
                .hbm_bytes = 0,
                .corners = {least_of_links(graph, op, chip)},
                .port_uses = {},
                .layout_floor = nullptr,
                .sram_floors = {}},
      .smallest = {0}};
  std::vector<PlanOption> fitting;
  CutList cuts(factors, cores);
  for (std::vector<std::int64_t>& cut : cuts.all()) {
    const auto plan =
        partition::complete_plan(graph, op, std::move(cut),
                                 std::vector<std::vector<std::int64_t>>(op.operands.size()), chip);
    if (!plan) {
      continue;
    }
    const Bytes space = partition::footprint(graph, op, *plan, chip).space;
    front.smallest = front.smallest.value == 0 ? space : std::min(front.smallest, space);
    if (space <= chip::room(chip)) {
      fitting.push_back(collective_option(graph, op, *plan, chip, tiles));
    }
  }
  front.counts.filtered = static_cast<std::int64_t>(fitting.size());
  if (factors == all && !fitting.empty()) {  // No cut was left out.
    front.floor.corners.front().execute = least_in_place(fitting);
  }
  front.options = pareto(std::move(fitting));
  front.counts.pareto = static_cast<std::int64_t>(front.options.size());
  front.floor.execute = front.floor.corners.front().execute;
  front.floor.port_uses.push_back({.idle = front.floor.execute, .carried = {0}, .loaded = {0}});
  return front;
}

}  // namespace elk::cost
