#include "elk/cost/price/price.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/text.hpp"
#include "elk/chip/ways.hpp"
#include "elk/cost/price/collective_price.hpp"
#include "elk/cost/price/states.hpp"
#include "elk/partition/core_needs.hpp"
#include "elk/partition/rotation.hpp"

namespace elk::cost {
namespace {

Cut cut_of(const ir::Op& op, const partition::ExecutePlan& plan, Pricer& pricer) {
  Cut cut = uncut(op.axes.size());
  cut.factor = plan.factors;
  cut.tile = partition::tiling(op, plan).tile;
  cut.order = plan.order;
  cut.mesh_dims = plan.mesh_dims;
  pricer.measure(cut);
  pricer.cross(cut);
  pricer.reduce(cut);
  return cut;
}

/// FLOPs of all calls, the padding of tiles and sub-tasks included.
double padded_flops(const ir::Op& op, const partition::ExecutePlan& plan) {
  const partition::Tiling tiles = partition::tiling(op, plan);
  auto flops = static_cast<double>(op.flops);
  for (const AxisId axis : op.axes.ids()) {
    const std::int64_t step = tiles.sub_task[axis];
    const std::int64_t padded = plan.factors[axis] * round_up(tiles.tile[axis], step);
    flops *= static_cast<double>(padded) / static_cast<double>(op.axes[axis].size);
  }
  return flops;
}

/// Sharers of one partition that go once around a dimension of a torus, 0 where they do not.
std::int64_t peers_around(const partition::Rotation& turn, const partition::ExecutePlan& plan,
                          const chip::Chip& chip) {
  if (turn.axes.size() != 1) {
    return 0;
  }
  const std::int64_t cores = turn.factors[0];
  const std::int32_t dim = plan.mesh_dims[turn.axes[0]];
  return partition::goes_around(chip, dim, cores, cores) ? cores / turn.ring : 0;
}

/// Whether the sharers of one piece differ in their places along a full line.
bool by_ports(const partition::Rotation& turn, const partition::ExecutePlan& plan,
              const chip::Network& network) {
  return network.routed() && std::any_of(turn.axes.begin(), turn.axes.end(), [&](AxisId axis) {
           return network.full(subscript(plan.mesh_dims[axis]));
         });
}

/// The nodes through which data come to the cores of a plan.
GridEntry edge_of(const partition::ExecutePlan& plan, const chip::Chip& chip) {
  GridEntry result;
  if (!chip::routed(chip)) {
    return result;
  }
  chip::PerDim area = {1, 1, 1};
  for (const AxisId axis : plan.order) {
    const auto at = axis;
    area[static_cast<std::size_t>(plan.mesh_dims[at])] *= plan.factors[at];
  }
  const std::vector<std::int64_t> nodes = chip::nodes_beside(chip, area);
  result.modules = static_cast<std::int64_t>(nodes.size());
  result.nodes = nodes.empty() ? 1 : *std::min_element(nodes.begin(), nodes.end());
  return result;
}

std::vector<HbmOperand> hbm_operands(const ir::Graph& graph, const ir::Op& op,
                                     const PlanOption& option, const chip::Chip& chip) {
  std::vector<HbmOperand> result;
  const GridEntry edge = edge_of(option.plan, chip);
  for (const OperandId i : op.operands.ids()) {
    const ir::Operand& operand = op.operands[i];
    if (!partition::from_hbm(graph, operand) || partition::first_like(op, i) != i) {
      continue;
    }
    const partition::PieceSharing sharing = partition::sharing(graph, op, i, option.plan, chip);
    const partition::Rotation turn = partition::rotation(op, i, option.plan, chip);
    result.push_back({.operand = i,
                      .full = option.footprint.operand[i],
                      .expected = partition::expected_share(graph, op, i, option.plan),
                      .sharing = sharing,
                      .pieces = ceil_div(std::min(option.cores, chip.core.count), sharing.copies),
                      .edge = edge,
                      .ring = turn.ring,
                      .around = peers_around(turn, option.plan, chip),
                      .by_ports = by_ports(turn, option.plan, chip::network_of(chip))});
    if (!chip.hbm) {
      result.back().spread = partition::spread_share(graph.tensors[operand.tensor], chip);
      result.back().gathered = from_everywhere(
          {.graph = graph, .op = op, .plan = option.plan, .chip = chip, .operand = i});
      result.back().picked = operand.indirect.has_value();
    }
  }
  return result;
}

void add_states(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
                PlanOption& option) {
  const std::vector<HbmOperand> operands = hbm_operands(graph, op, option, chip);
  const bool wide = partition::is_wide(option.plan, chip);
  option.states = preload_states(operands, op, Fabric(chip), chip, wide);
  option.hbm_bytes = option.states.back().hbm_bytes;
}

}  // namespace

PlanOption price_execute(const ir::Graph& graph, const ir::Op& op,
                         const partition::ExecutePlan& plan, Pricer& pricer) {
  const Cut cut = cut_of(op, plan, pricer);
  std::vector<TemporalFactors> turns;
  std::vector<const TemporalFactors*> pointers;
  for (std::size_t slot = 0; slot < pricer.reads(); ++slot) {
    pricer.split(cut, slot, plan.temporal[pricer.slots()[slot].operand], turns.emplace_back());
    pricer.detail(cut, turns.back());
  }
  pointers.reserve(turns.size());
  for (const TemporalFactors& turn : turns) {
    pointers.push_back(&turn);
  }
  Motion motion;
  pricer.move(cut, pointers, {.pace = plan.pace, .order = plan.loops}, motion);
  const double compute = pricer.compute(motion);
  const double time = pricer.time(cut, motion, compute);
  PlanOption option{.plan = plan,
                    .footprint = partition::footprint(graph, op, plan, pricer.chip()),
                    .cores = cut.cores,
                    .steps = motion.steps,
                    .compute = {compute},
                    .gather = motion.gather,
                    .shift = motion.shift,
                    .reduce = cut.reduce,
                    .time = {time},
                    .exchange = {motion.exchange},
                    .tree = cut.tree,
                    .padded_flops = padded_flops(op, plan),
                    .extrapolated = 0.0,
                    .hbm_bytes = 0,
                    .states = {}};
  option.extrapolated =
      pricer.tiles().extrapolated(std::span(motion.sub_task.data(), op.axes.size())) ? 1.0 : 0.0;
  return option;
}

PlanOption price(const ir::Graph& graph, const ir::Op& op, const partition::ExecutePlan& plan,
                 const chip::Chip& chip, Pricer& pricer) {
  PlanOption option = price_execute(graph, op, plan, pricer);
  add_states(graph, op, chip, option);
  return option;
}

PlanOption price(const ir::Graph& graph, const ir::Op& op, const partition::ExecutePlan& plan,
                 const chip::Chip& chip, const tile::TileModel& tiles) {
  partition::validate(graph, op, plan, chip);
  if (ir::is_collective(op.kind)) {
    return collective_option(graph, op, plan, chip, tiles);
  }
  Pricer pricer(graph, op, chip, tiles);
  return price(graph, op, plan, chip, pricer);
}

}  // namespace elk::cost
