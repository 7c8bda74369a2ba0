#include "elk/cost/price/gather.hpp"

#include <cstddef>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/cost/price/collective_price.hpp"
#include "elk/partition/core_needs.hpp"
#include "elk/partition/extent.hpp"

namespace elk::cost {
namespace {

/// What the gather of one operand moves; nothing of what comes from HBM. Which rows an index picks
/// is not known, so they come from everywhere.
Arrival arrival(const PlannedRead& planned, const partition::Transition* moved) {
  const auto& [graph, op, plan, chip, operand] = planned;
  const ir::Operand& read = op.operands[operand];
  Arrival result{.traffic = {}, .moved = 0};
  if (read.access == ir::Access::Write || partition::from_hbm(graph, read) ||
      partition::first_like(op, operand) != operand) {
    return result;
  }
  if (moved == nullptr || read.indirect) {
    return from_everywhere(planned);
  }
  result.traffic.received = moved->received.value;
  result.traffic.sent = moved->sent.value;
  result.traffic.fragments = moved->fragments;
  result.traffic.chip_in = moved->chip_in.value;
  result.traffic.chip_out = moved->chip_out.value;
  result.moved = chip.interconnect.multicast ? moved->unique.value : moved->total.value;
  return result;
}

}  // namespace

Arrival from_everywhere(const PlannedRead& read) {
  const auto& [graph, op, plan, chip, operand] = read;
  const ir::Tensor& tensor = graph.tensors[op.operands[operand].tensor];
  const std::int64_t bits = ir::bits(tensor.dtype);
  const partition::Box box = partition::held_box(graph, op, operand, plan);
  const Table<AxisId, std::int64_t> whole = partition::sizes(op);
  const std::int64_t unique = partition::box(tensor, op.operands[operand], whole, whole).elements;
  Arrival result{.traffic = {}, .moved = 0};
  result.traffic.received = partition::element_bytes(box.elements, bits).value;
  result.traffic.fragments = partition::spread_fragments(box, unique, chip::total_cores(chip));
  result.moved = chip.interconnect.multicast
                     ? partition::element_bytes(unique, bits).value
                     : result.traffic.received * partition::tiling(op, plan).cores;
  if (chip.chips > 1) {
    const partition::CoreNeeds needs(graph, op, operand, plan.factors, plan.order);
    result.traffic.chip_in = partition::most_lacking(
        needs, partition::ids_of_chip(plan.factors, plan.order, plan.mesh_dims, chip), chip.chips);
  }
  return result;
}

ExchangeCost gather_all(const ir::Graph& graph, const ir::Op& op, const PlanOption& option,
                        TableView<OperandId, const partition::Transition* const> moved,
                        const chip::Chip& chip) {
  const Fabric fabric(chip);
  Traffic sum;
  std::int64_t through = 0;
  for (const OperandId operand : op.operands.ids()) {
    const Arrival one =
        arrival({.graph = graph, .op = op, .plan = option.plan, .chip = chip, .operand = operand},
                moved[operand]);
    sum.received += one.traffic.received;
    sum.sent += one.traffic.sent;
    sum.fragments += one.traffic.fragments;
    sum.chip_in += one.traffic.chip_in;
    sum.chip_out += one.traffic.chip_out;
    through += one.moved;
  }
  sum.wide = partition::is_wide(option.plan, chip);
  fabric.gather(sum, through);
  if (ir::is_collective(op.kind)) {
    add_ports(chip, workers(option.plan), partition::held_by_core(graph, op, option.plan).before,
              true, sum);
  }
  return fabric.exchange(sum);
}

}  // namespace elk::cost
