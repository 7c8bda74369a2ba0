#include "elk/cost/price/collective_price.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "elk/base/rounding.hpp"
#include "elk/cost/price/gather.hpp"
#include "elk/cost/price/states.hpp"
#include "elk/tile/times.hpp"

namespace elk::cost {
namespace {

struct Sides {
  const std::vector<partition::CollectiveRound>& chip;
  const std::vector<partition::CollectiveRound>& port;
};

double seconds(const Sides& sides, const partition::Passage& ways, const chip::Chip& machine) {
  const chip::InterChip& between = *machine.inter_chip;
  double sum = 0.0;
  for (std::size_t i = 0; i < sides.chip.size(); ++i) {
    const double crossing = static_cast<double>(sides.chip[i].sent) * ways.load / between.rate;
    const double port = static_cast<double>(sides.port[i].sent) / machine.interconnect.link_rate;
    const double step = between.sync_latency.value +
                        (static_cast<double>(ways.longest) * between.latency.value) +
                        std::max(crossing, port);
    sum += static_cast<double>(sides.chip[i].steps) * step;
  }
  return sum;
}

/// Adding up what arrives: two values at a time in a ring, all at once otherwise.
double adding(const partition::Addition& sum, partition::CollectiveAlgorithm way,
              tile::TileTimes& times) {
  if (sum.addends == 0) {
    return 0.0;
  }
  return way == partition::CollectiveAlgorithm::Direct
             ? times.add(sum.addends + 1, sum.elements)
             : static_cast<double>(sum.addends) * times.add(2, sum.elements);
}

/// Ports hand on what came for the cores beside them.
ExchangeCost scatter(const chip::Chip& chip, const chip::PerDim& workers, std::int64_t piece) {
  Traffic traffic;
  add_ports(chip, workers, piece, false, traffic);
  return Fabric(chip).exchange(traffic);
}

/// All bytes of the link phase through the busiest port, with the adds between them.
ExchangeCost link_exchange(const LinkPhase& link, std::int64_t port_bytes, double adds,
                           const chip::Chip& chip) {
  return {.time = {link.time.value + adds},
          .bytes = {port_bytes},
          .wire = {static_cast<double>(port_bytes) / chip.interconnect.link_rate},
          .tail = {0.0},
          .crossing = link.sent};
}

}  // namespace

LinkPhase link_phase(ir::OpKind kind, const partition::CollectiveBytes& chip,
                     const partition::CollectiveBytes& port, std::int64_t chips,
                     const chip::Chip& machine) {
  const chip::Topology topology = machine.inter_chip->topology;
  LinkPhase best{.way = partition::CollectiveAlgorithm::Ring, .time = {0.0}, .sent = {0}};
  for (const partition::CollectiveAlgorithm way :
       {partition::CollectiveAlgorithm::Ring, partition::CollectiveAlgorithm::Direct}) {
    const std::vector<partition::CollectiveRound> all = partition::rounds(kind, chip, chips, way);
    const std::vector<partition::CollectiveRound> own = partition::rounds(kind, port, chips, way);
    const double time =
        seconds({.chip = all, .port = own}, partition::passage(way, topology, chips), machine);
    if (way == partition::CollectiveAlgorithm::Ring || time < best.time.value) {
      best = {.way = way, .time = {time}, .sent = {partition::sent_bytes(all)}};
    }
  }
  return best;
}

chip::PerDim workers(const partition::ExecutePlan& plan) {
  chip::PerDim result = {1, 1, 1};
  for (const std::int32_t axis : plan.order) {
    const auto at = static_cast<std::size_t>(axis);
    const std::int32_t dim = plan.mesh_dims[at];
    result[dim < 0 ? 1 : static_cast<std::size_t>(dim)] *= plan.factors[at];
  }
  return result;
}

void add_ports(const chip::Chip& chip, const chip::PerDim& workers, std::int64_t piece,
               bool collects, Traffic& traffic) {
  const std::int64_t others =
      partition::cores_of_port(chip, workers[0] * workers[1] * workers[2]) - 1;
  if (others == 0) {
    return;
  }
  traffic.received += (collects ? others : 1) * piece;
  traffic.sent += (collects ? 1 : others) * piece;
  traffic.fragments += collects ? others : 1;
  if (chip::routed(chip)) {
    const BusiestLink busiest(chip);
    traffic.line += piece * (collects ? busiest.to_first(workers, others)
                                      : busiest.from_first(workers, others));
    traffic.hops = std::max(traffic.hops, busiest.hops_of_first(workers, others));
  }
}

PlanOption collective_option(const ir::Graph& graph, const ir::Op& op,
                             const partition::ExecutePlan& plan, const chip::Chip& chip,
                             const tile::TileModel& tiles) {
  tile::TileTimes times(graph, op, chip, tiles);
  const std::int64_t chips = partition::chips_of(op);
  const partition::CollectiveBytes whole = partition::held_by_chip(graph, op);
  const partition::CollectiveBytes core = partition::held_by_core(graph, op, plan);
  const std::int64_t cores = partition::tiling(op, plan).cores;
  const std::int64_t shared = partition::cores_of_port(chip, cores);
  const partition::CollectiveBytes port{.before = shared * core.before,
                                        .after = shared * core.after};
  const LinkPhase link = link_phase(op.kind, whole, port, chips, chip);
  const std::int64_t port_bytes =
      partition::sent_bytes(partition::rounds(op.kind, port, chips, link.way));
  const double adds = adding(partition::sum_of_core(graph, op, plan), link.way, times);
  PlanOption option{.plan = plan,
                    .footprint = partition::footprint(graph, op, plan, chip),
                    .cores = cores,
                    .steps = 1,
                    .compute = {0.0},
                    .gather = {},
                    .shift = link_exchange(link, port_bytes, adds, chip),
                    .reduce = scatter(chip, workers(plan), core.after),
                    .time = {0.0},
                    .exchange = {0},
                    .tree = false,
                    .padded_flops = static_cast<double>(op.flops),
                    .extrapolated = 0.0,
                    .hbm_bytes = 0,
                    .states = preload_states({}, op, Fabric(chip), chip, false),
                    .way = link.way};
  const std::vector<const partition::Transition*> nothing(op.operands.size(), nullptr);
  option.gather = gather_all(graph, op, option, nothing, chip);
  option.time = option.gather.time + option.shift.time + option.reduce.time;
  option.exchange = option.gather.bytes + option.shift.bytes + option.reduce.bytes;
  return option;
}

}  // namespace elk::cost
