#include "elk/program/expand/collective_moves.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "elk/partition/collective.hpp"
#include "elk/program/expand/groups.hpp"

namespace elk::program {
namespace {

/// The cores that work, by id.
Cores workers(const PlacedOp& placed) {
  Cores all;
  const auto together = [](std::int32_t) { return false; };
  for (const Sharers& group : sharers(placed.op, placed.plan.execute, placed.chip, together)) {
    all.insert(all.end(), group.cores.begin(), group.cores.end());
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::int64_t cores_of_port(const PlacedOp& placed, const Cores& all) {
  return partition::cores_of_port(placed.chip, static_cast<std::int64_t>(all.size()));
}

/// Every core that shares a port sends `bytes` to it, or receives as many from it.
void add_neighbours(const PlacedOp& placed, std::int64_t bytes, bool to_port, Exchange& exchange) {
  const Cores all = workers(placed);
  const auto step = static_cast<std::size_t>(cores_of_port(placed, all));
  const auto add = [&](std::int32_t from, Cores to) {
    exchange.transfers.push_back({.pattern = Pattern::Fetch,
                                  .operand = to_port ? 0 : 1,
                                  .from = static_cast<std::int32_t>(exchange.groups.size()),
                                  .to = static_cast<std::int32_t>(exchange.groups.size()) + 1,
                                  .unit = 1,
                                  .extent = bytes,
                                  .chunk = bytes,
                                  .runs = 1,
                                  .level = 0});
    exchange.groups.push_back({from});
    exchange.groups.push_back(std::move(to));
  };
  for (std::size_t port = 0; port < all.size() && step > 1; port += step) {
    for (std::size_t core = port + 1; core < std::min(port + step, all.size()); ++core) {
      add(to_port ? all[core] : all[port], {to_port ? all[port] : all[core]});
    }
  }
}

}  // namespace

void add_collection(const PlacedOp& placed, Exchange& gather) {
  const partition::CollectiveBytes core =
      partition::held_by_core(placed.graph, placed.op, placed.plan.execute);
  add_neighbours(placed, core.before, true, gather);
}

CollectiveMoves collective(const PlacedOp& placed) {
  const partition::ExecutePlan& plan = placed.plan.execute;
  const std::int64_t chips = partition::chips_of(placed.op);
  const partition::CollectiveAlgorithm way = placed.plan.ring
                                                 ? partition::CollectiveAlgorithm::Ring
                                                 : partition::CollectiveAlgorithm::Direct;
  const partition::Passage passage =
      partition::passage(way, placed.chip.inter_chip->topology, chips);
  const partition::CollectiveBytes whole = partition::held_by_chip(placed.graph, placed.op);
  const partition::CollectiveBytes core = partition::held_by_core(placed.graph, placed.op, plan);
  const partition::Addition sum = partition::sum_of_core(placed.graph, placed.op, plan);
  const Cores all = workers(placed);
  const std::int64_t shared = cores_of_port(placed, all);
  const std::vector<partition::CollectiveRound> chip =
      partition::rounds(placed.op.kind, whole, chips, way);
  const std::vector<partition::CollectiveRound> port = partition::rounds(
      placed.op.kind, {.before = shared * core.before, .after = shared * core.after}, chips, way);

  CollectiveMoves out{.crossings = {},
                      .links = passage.longest,
                      .ports = {},
                      .addends = sum.addends,
                      .elements = sum.elements,
                      .ring = placed.plan.ring,
                      .deliver = {}};
  for (std::size_t i = 0; i < chip.size(); ++i) {
    const double passed = static_cast<double>(chip[i].sent) * passage.load;
    out.crossings.push_back({.steps = chip[i].steps,
                             .sent = chip[i].sent,
                             .chip = static_cast<std::int64_t>(std::ceil(passed)),
                             .port = port[i].sent});
  }
  for (std::size_t first = 0; first < all.size(); first += static_cast<std::size_t>(shared)) {
    out.ports.push_back(all[first]);
  }
  add_neighbours(placed, core.after, false, out.deliver);
  return out;
}

}  // namespace elk::program
