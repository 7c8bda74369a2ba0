#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "elk/cost/collective.hpp"
#include "elk/partition/enumerate.hpp"

namespace elk::cost {
namespace {

constexpr std::size_t kMostCombinations = 4096;

using Factors = std::vector<std::vector<std::int64_t>>;  // of each axis

/// Every choice of one factor an axis whose product is at most `cores`.
class Cuts {
 public:
  Cuts(const Factors& factors, std::int64_t cores) : factors_(factors), cut_(factors.size(), 1) {
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

/// How many of those there are, or more than `most`.
std::size_t count_cuts(const Factors& factors, std::size_t axis, std::int64_t cores,
                       std::size_t most) {
  if (axis == factors.size()) {
    return 1;
  }
  std::size_t sum = 0;
  for (const std::int64_t factor : factors[axis]) {
    if (factor > cores || sum > most) {
      break;
    }
    sum += count_cuts(factors, axis + 1, cores / factor, most);
  }
  return sum;
}

/// Every second factor of the axis that has the most, its first and its last among them.
void thin(Factors& factors) {
  auto& longest =
      *std::max_element(factors.begin(), factors.end(),
                        [](const auto& a, const auto& b) { return a.size() < b.size(); });
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < longest.size(); ++i) {
    if (i % 2 == 0 || i + 1 == longest.size()) {
      kept.push_back(longest[i]);
    }
  }
  longest = std::move(kept);
}

Factors factors_of(const ir::Op& op, std::int64_t cores) {
  Factors result;
  for (std::size_t axis = 0; axis < op.axes.size(); ++axis) {
    const bool cut = partition::divisible(op, static_cast<std::int32_t>(axis));
    result.push_back(partition::distinct_factors(op.axes[axis].size, cut ? cores : 1));
  }
  return result;
}

/// Least time between chips of any cut, and least bytes that a core receives.
Corner corner(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip) {
  const partition::Held whole = partition::held_by_chip(graph, op);
  const std::int64_t ports = chip.inter_chip->port_cores;
  const LinkPhase link =
      link_phase(op.kind, whole, {.before = whole.before / ports, .after = whole.after / ports},
                 partition::chips_of(op), chip);
  return {.execute = link.time, .link = {0}, .hbm_bytes = 0};
}

bool before(const PlanOption& a, const PlanOption& b) {
  return std::tie(a.time, a.footprint.space, a.plan) < std::tie(b.time, b.footprint.space, b.plan);
}

/// `options`, by time: those that no earlier one beats in space and exchange.
std::vector<PlanOption> pareto(std::vector<PlanOption> options) {
  std::sort(options.begin(), options.end(), before);
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
                       const TileModel& tiles) {
  const std::int64_t cores = chip::total_cores(chip);
  Factors factors = factors_of(op, cores);
  const std::size_t complete = count_cuts(factors, 0, cores, std::size_t{1} << 40U);
  while (count_cuts(factors, 0, cores, kMostCombinations) > kMostCombinations) {
    thin(factors);
  }
  Front front{
      .options = {},
      .counts = {.complete = static_cast<std::int64_t>(complete), .filtered = 0, .pareto = 0},
      .fastest = 0,
      .floor = {.execute = {0.0},
                .compute = {0.0},
                .link = {0},
                .hbm_bytes = 0,
                .corners = {corner(graph, op, chip)}},
      .smallest = {0}};
  std::vector<PlanOption> fitting;
  Cuts cuts(factors, cores);
  for (std::vector<std::int64_t>& cut : cuts.all()) {
    const auto plan =
        partition::complete_plan(graph, op, std::move(cut),
                                 std::vector<std::vector<std::int64_t>>(op.operands.size()), chip);
    if (!plan) {
      continue;
    }
    const Bytes space = partition::footprint(graph, op, *plan).space;
    front.smallest = front.smallest.value == 0 ? space : std::min(front.smallest, space);
    if (space <= chip::room(chip)) {
      fitting.push_back(collective_option(graph, op, *plan, chip, tiles));
    }
  }
  front.counts.filtered = static_cast<std::int64_t>(fitting.size());
  front.options = pareto(std::move(fitting));
  front.counts.pareto = static_cast<std::int64_t>(front.options.size());
  front.floor.execute = front.floor.corners.front().execute;
  return front;
}

}  // namespace elk::cost
