#include "elk/cost/front/given.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "elk/cost/price/price.hpp"
#include "elk/partition/enumerate.hpp"

namespace elk::cost {
namespace {

/// Whether the floor of the op's space may be above what `plan` needs.
bool is_outside(const ir::Op& op, const partition::ExecutePlan& plan) {
  return ir::is_collective(op.kind) || plan.pace != partition::paces(op, plan);
}

/// Seconds of an execute that neither gathers nor shifts; what chips exchange always counts.
Seconds in_place(const ir::Op& op, const PlanOption& option) {
  const Seconds work = ir::is_collective(op.kind) ? option.shift.time : option.compute;
  return work + option.reduce.time;
}

/// Has a floor hold for a plan outside of the space that it was made for. How the cuts of that
/// space lie and what they hold then says nothing of all plans, and is forgotten.
void lower(const ir::Op& op, const PlanOption& option, Floor& floor) {
  const Seconds least = in_place(op, option);
  const Seconds idle = least - option.reduce.wire;
  floor.execute = std::min(floor.execute, least);
  floor.compute = std::min(floor.compute, option.compute);
  floor.link = {0};
  floor.corners.push_back({.execute = least, .link = {0}, .hbm_bytes = floor.hbm_bytes});
  floor.port_uses.push_back({.idle = std::max(idle, Seconds{0.0}), .carried = {0}, .loaded = {0}});
  floor.layout_floor = nullptr;
  floor.sram_floors = {};
}

bool takes_less(const PlanOption& a, const PlanOption& b) {
  return std::tie(a.time, a.footprint.space, a.plan) < std::tie(b.time, b.footprint.space, b.plan);
}

}  // namespace

Front given_front(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
                  const tile::TileModel& tiles, const GivenSet& given) {
  Front front{.options = {},
              .counts = {},
              .fastest = 0,
              .floor = given.searched.floor,
              .smallest = given.searched.smallest,
              .given = true};
  for (const partition::ExecutePlan& plan : given.plans) {
    const bool known = std::any_of(front.options.begin(), front.options.end(),
                                   [&](const PlanOption& other) { return other.plan == plan; });
    if (!known) {
      front.options.push_back(price(graph, op, plan, chip, tiles));
    }
  }
  std::sort(front.options.begin(), front.options.end(), takes_less);
  const auto count = static_cast<std::int64_t>(front.options.size());
  front.counts = {.complete = count, .filtered = count, .pareto = count};
  front.smallest = front.options.front().footprint.space;
  for (const PlanOption& option : front.options) {
    front.smallest = std::min(front.smallest, option.footprint.space);
    if (is_outside(op, option.plan)) {
      lower(op, option, front.floor);
    }
  }
  return front;
}

}  // namespace elk::cost
