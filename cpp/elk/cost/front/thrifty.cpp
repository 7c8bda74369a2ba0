#include "elk/cost/front/thrifty.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/cost/energy.hpp"
#include "elk/cost/exchange/cost_tuning.hpp"
#include "elk/cost/floor/cuts.hpp"
#include "elk/cost/price/price.hpp"
#include "elk/partition/enumerate.hpp"

namespace elk::cost {
namespace {

/// What a cut costs alone.
struct Thrifty {
  double seconds;
  double joules;
  partition::ExecutePlan plan;

  friend auto operator<=>(const Thrifty&, const Thrifty&) = default;
};

/// Factors few enough to look at each cut.
Factors few_factors(const ir::Op& op, std::int64_t cores) {
  const Factors all = all_factors(op, cores);
  Factors result = spaced_factors(op, all, cores);
  if (count_cuts(result, cores, tuning::kThriftyCuts) > tuning::kThriftyCuts) {
    result = all;
    for (std::vector<std::int64_t>& factors : result) {
      const std::int64_t last = factors.back();
      std::erase_if(factors, [&](std::int64_t factor) {
        return factor != last && !std::has_single_bit(static_cast<std::uint64_t>(factor));
      });
    }
  }
  return result;
}

class Cutter {
 public:
  Cutter(Pricer& pricer, const Constraints& constraints)
      : pricer_(pricer),
        constraints_(constraints),
        energy_(pricer.graph(), pricer.chip()),
        cores_(chip::total_cores(pricer.chip())),
        factors_(few_factors(pricer.op(), cores_)),
        cut_(factors_.size(), 1) {}

  std::vector<Thrifty> all() {
    visit(AxisId{0}, cores_);
    return std::move(found_);
  }

 private:
  void visit(AxisId axis, std::int64_t cores) {
    if (axis.index() == factors_.size()) {
      look();
      return;
    }
    for (const std::int64_t factor : factors_[axis]) {
      if (factor <= cores && looked_ < 4 * tuning::kThriftyCuts) {
        cut_[axis] = factor;
        visit(axis + 1, cores / factor);
      }
    }
    cut_[axis] = 1;
  }

  void look() {
    ++looked_;
    const ir::Op& op = pricer_.op();
    const auto plan = partition::complete_plan(
        pricer_.graph(), op, cut_, Table<OperandId, Table<DimId, std::int64_t>>(op.operands.size()),
        pricer_.chip());
    if (!plan || !allowed()) {
      return;
    }
    const PlanOption option = price(pricer_.graph(), op, *plan, pricer_.chip(), pricer_);
    if (option.footprint.space <= chip::room(pricer_.chip())) {
      found_.push_back({.seconds = option.time.value,
                        .joules = energy_.execute(op, option) +
                                  energy_.bring(option, option.states.front(), option.gather),
                        .plan = *plan});
    }
  }

  /// Whether the cut keeps the constraints of the user.
  [[nodiscard]] bool allowed() const {
    double used = 1.0;
    for (const std::int64_t factor : cut_) {
      used *= static_cast<double>(factor);
    }
    if (used < constraints_.min_core_share * static_cast<double>(cores_)) {
      return false;
    }
    const auto padded = [&](const Slot& slot) {
      double ratio = 1.0;
      for (const AxisId axis : cut_.ids()) {
        const std::int64_t size = pricer_.op().axes[axis].size;
        const std::int64_t whole = cut_[axis] * ceil_div(size, cut_[axis]);
        const bool contained = ((slot.contained >> axis.index()) & 1U) != 0;
        ratio *= contained ? static_cast<double>(whole) / static_cast<double>(size) : 1.0;
      }
      return ratio;
    };
    return constraints_.max_padding <= 0.0 ||
           std::all_of(pricer_.slots().begin(), pricer_.slots().end(),
                       [&](const Slot& slot) { return padded(slot) <= constraints_.max_padding; });
  }

  Pricer& pricer_;
  const Constraints& constraints_;
  EnergyForecast energy_;
  std::int64_t cores_;
  Factors factors_;
  Table<AxisId, std::int64_t> cut_;
  std::vector<Thrifty> found_;
  std::int64_t looked_ = 0;
};

}  // namespace

std::vector<partition::ExecutePlan> thrifty_plans(const ir::Graph& graph, const ir::Op& op,
                                                  const chip::Chip& chip,
                                                  const tile::TileModel& tiles,
                                                  const Constraints& constraints) {
  if (ir::is_collective(op.kind)) {
    return {};
  }
  Pricer pricer(graph, op, chip, tiles);
  std::vector<Thrifty> all = Cutter(pricer, constraints).all();
  std::sort(all.begin(), all.end());
  std::vector<partition::ExecutePlan> result;
  double least = 0.0;
  for (Thrifty& one : all) {
    if (result.empty() || one.joules < tuning::kSaved * least) {
      least = one.joules;
      result.push_back(std::move(one.plan));
    }
  }
  // The slowest take least; the fastest are in the front already.
  if (result.size() > tuning::kMostThrifty) {
    result.erase(result.begin(), result.end() - static_cast<std::ptrdiff_t>(tuning::kMostThrifty));
  }
  return result;
}

}  // namespace elk::cost
