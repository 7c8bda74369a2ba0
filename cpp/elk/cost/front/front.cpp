#include "elk/cost/front/front.hpp"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/mechanisms.hpp"
#include "elk/base/table.hpp"
#include "elk/base/text.hpp"
#include "elk/cost/front/coarse.hpp"
#include "elk/cost/front/collective_front.hpp"
#include "elk/cost/front/search.hpp"
#include "elk/cost/price/price.hpp"
#include "elk/cost/price/states.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/tile/rate.hpp"

namespace elk::cost {
namespace {

/// Searches until no tile beats the least times assumed; one that does lowers them.
SearchResult search(Pricer& pricer, tile::TileRates& rates, const Constraints& constraints) {
  for (;;) {
    FrontSearch attempt(pricer, rates, constraints);
    if (attempt.run()) {
      return attempt.found();
    }
  }
}

PlanOption priced(Pricer& pricer, const PlanFactors& candidate) {
  const ir::Op& op = pricer.op();
  const auto plan = partition::complete_plan(pricer.graph(), op, candidate.factors,
                                             candidate.temporal, pricer.chip());
  if (!plan) {
    throw InternalError(text("a plan of ", op.name, " does not fit the grid it was made for"));
  }
  return price(pricer.graph(), op, *plan, pricer.chip(), pricer);
}

std::vector<PlanOption> priced(Pricer& pricer, const std::vector<PlanFactors>& candidates) {
  std::vector<PlanOption> options;
  options.reserve(candidates.size());
  for (const PlanFactors& candidate : candidates) {
    options.push_back(priced(pricer, candidate));
  }
  return options;
}

/// Plans that cut as `plan` does or more coarsely, at no longer tiles, and fit a core.
std::vector<PlanOption> coarser(Pricer& pricer, const PlanFactors& plan, Seconds most) {
  const bool rotates = std::any_of(plan.temporal.begin(), plan.temporal.end(),
                                   [](const auto& parts) { return !parts.empty(); });
  std::vector<PlanOption> result;
  if (!mechanisms().coarser || rotates || !pricer.fabric().grid()) {
    return result;
  }
  for (Table<AxisId, std::int64_t>& factors : coarser_cuts(pricer, plan.factors)) {
    const auto whole = partition::complete_plan(pricer.graph(), pricer.op(), std::move(factors),
                                                plan.temporal, pricer.chip());
    if (whole) {
      result.push_back(price(pricer.graph(), pricer.op(), *whole, pricer.chip(), pricer));
    }
  }
  std::erase_if(result, [&](const PlanOption& option) {
    return option.time > most || option.footprint.space > chip::room(pricer.chip());
  });
  return result;
}

/// Bytes that a core preloads at most.
Bytes largest_preload(const PlanOption& option) {
  Bytes most{0};
  for (const PreloadState& state : option.states) {
    most = std::max(most, state.space);
  }
  return most;
}

/// Whether a plan takes no more time or room than another, itself or its HBM data.
bool covers(const PlanOption& a, const PlanOption& b) {
  return a.time <= b.time && a.footprint.space <= b.footprint.space &&
         largest_preload(a) <= largest_preload(b);
}

/// Of the cuts that trade time for room, the plans that `options` lack: in vast spaces, these are
/// of a grid of factors.
std::vector<PlanOption> roomier(Pricer& pricer, const std::vector<SramFloor>& sram_floors,
                                const std::vector<PlanOption>& options) {
  std::vector<PlanOption> result;
  for (const SramFloor& sram_floor : sram_floors) {
    if (sram_floor.factors.empty()) {
      continue;
    }
    const auto whole = partition::complete_plan(
        pricer.graph(), pricer.op(), sram_floor.factors,
        Table<OperandId, Table<DimId, std::int64_t>>(pricer.op().operands.size()), pricer.chip());
    if (!whole) {
      continue;
    }
    PlanOption option = price(pricer.graph(), pricer.op(), *whole, pricer.chip(), pricer);
    const auto as_good = [&](const PlanOption& other) { return covers(other, option); };
    if (option.footprint.space <= chip::room(pricer.chip()) &&
        std::none_of(options.begin(), options.end(), as_good) &&
        std::none_of(result.begin(), result.end(), as_good)) {
      result.push_back(std::move(option));
    }
  }
  return result;
}

bool before(const PlanOption& a, const PlanOption& b) {
  return std::tie(a.time, a.footprint.space, a.plan) < std::tie(b.time, b.footprint.space, b.plan);
}

}  // namespace

Front front(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
            const tile::TileModel& tiles, const Constraints& constraints) {
  if (ir::is_collective(op.kind)) {
    return collective_front(graph, op, chip, tiles);
  }
  Pricer pricer(graph, op, chip, tiles, constraints.stores_every);
  return front(pricer, tile::TileRates(op, pricer.tiles()), constraints);
}

Front front(Pricer& pricer, tile::TileRates rates, const Constraints& constraints) {
  const SearchResult found = search(pricer, rates, constraints);
  Front front{.options = priced(pricer, found.members),
              .counts = found.counts,
              .fastest = 0,
              .floor = found.floor,
              .smallest = {found.smallest}};
  std::vector<PlanOption> fastest = priced(pricer, found.fastest);
  std::vector<PlanOption> prompt = priced(pricer, found.prompt);
  if (fastest.empty()) {
    return front;
  }
  std::vector<PlanOption> coarse = coarser(pricer, found.fastest.front(), fastest.front().time);
  front.floor.layout_floor =
      std::make_shared<const LayoutFloor>(layout_floor(pricer, rates, front.floor));
  front.floor.sram_floors =
      sram_floors(pricer, rates, front.floor, largest_preload(fastest.front()));
  std::vector<PlanOption> roomy;
  if (mechanisms().roomier && constraints.min_core_share <= 0.0 && constraints.max_padding <= 0.0) {
    roomy = roomier(pricer, front.floor.sram_floors, front.options);
  }
  const partition::ExecutePlan chosen = fastest.front().plan;
  const auto is_chosen = [&](const PlanOption& option) { return option.plan == chosen; };
  for (std::vector<PlanOption>* more : {&prompt, &fastest, &coarse, &roomy}) {
    for (PlanOption& option : *more) {
      const auto same = [&](const PlanOption& other) { return other.plan == option.plan; };
      if (std::none_of(front.options.begin(), front.options.end(), same)) {
        front.options.push_back(std::move(option));
      }
    }
  }
  const auto added = front.options.begin() + static_cast<std::ptrdiff_t>(found.members.size());
  std::sort(front.options.begin(), added, before);
  std::sort(added, front.options.end(), before);
  front.fastest = static_cast<std::int32_t>(
      std::find_if(front.options.begin(), front.options.end(), is_chosen) - front.options.begin());
  return front;
}

void retime(Front& front, const chip::Chip& chip) {
  for (PlanOption& option : front.options) {
    retime(option.states, chip);
  }
}

}  // namespace elk::cost
