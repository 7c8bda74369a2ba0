#include "elk/cost/front.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/text.hpp"
#include "elk/cost/coarse.hpp"
#include "elk/cost/collective.hpp"
#include "elk/cost/price.hpp"
#include "elk/cost/rate.hpp"
#include "elk/cost/search.hpp"
#include "elk/partition/enumerate.hpp"

namespace elk::cost {
namespace {

/// Searches until no tile beats the least times assumed; one that does lowers them.
Found search(Pricer& pricer, Rates& rates, const Constraints& constraints) {
  for (;;) {
    Search attempt(pricer, rates, constraints);
    if (attempt.run()) {
      return attempt.found();
    }
  }
}

std::vector<PlanOption> priced(Pricer& pricer, const std::vector<Candidate>& candidates) {
  const ir::Graph& graph = pricer.graph();
  const ir::Op& op = pricer.op();
  const chip::Chip& chip = pricer.chip();
  std::vector<PlanOption> options;
  for (const Candidate& candidate : candidates) {
    const auto plan =
        partition::complete_plan(graph, op, candidate.factors, candidate.temporal, chip);
    if (!plan) {
      throw InternalError(text("a plan of ", op.name, " does not fit the grid it was made for"));
    }
    options.push_back(price(graph, op, *plan, chip, pricer));
  }
  return options;
}

/// Plans that cut as `plan` does or more coarsely, at no longer tiles, and fit a core.
std::vector<PlanOption> coarser(Pricer& pricer, const Candidate& plan, Seconds most) {
  const bool rotates = std::any_of(plan.temporal.begin(), plan.temporal.end(),
                                   [](const auto& parts) { return !parts.empty(); });
  std::vector<PlanOption> result;
  if (rotates || !pricer.fabric().grid()) {
    return result;
  }
  for (std::vector<std::int64_t>& factors : coarser_cuts(pricer, plan.factors)) {
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

bool before(const PlanOption& a, const PlanOption& b) {
  return std::tie(a.time, a.footprint.space, a.plan) < std::tie(b.time, b.footprint.space, b.plan);
}

}  // namespace

Front front(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
            const TileModel& tiles, const Constraints& constraints) {
  if (ir::is_collective(op.kind)) {
    return collective_front(graph, op, chip, tiles);
  }
  Pricer pricer(graph, op, chip, tiles);
  return front(pricer, Rates(op, pricer.tiles()), constraints);
}

Front front(Pricer& pricer, Rates rates, const Constraints& constraints) {
  const Found found = search(pricer, rates, constraints);
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
  front.floor.standing = standing(pricer, rates, front.floor);
  const partition::ExecutePlan chosen = fastest.front().plan;
  const auto is_chosen = [&](const PlanOption& option) { return option.plan == chosen; };
  for (std::vector<PlanOption>* more : {&prompt, &fastest, &coarse}) {
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

}  // namespace elk::cost
