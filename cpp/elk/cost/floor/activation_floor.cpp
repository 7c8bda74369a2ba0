#include "elk/cost/floor/activation_floor.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <set>
#include <span>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/chip/delivery.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/plan.hpp"

namespace elk::cost {
namespace {

/// Whether the indices of a map are an interval without gaps: steps of one, and no longer step than
/// what the shorter ones reach and one more.
bool gapless(const ir::Dim& dim, TableView<AxisId, const std::int64_t> size) {
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;
  for (std::size_t i = 0; i < dim.axes.size(); ++i) {
    if (size[dim.axes[i]] > 1) {
      steps.emplace_back(std::abs(dim.coef[i]), size[dim.axes[i]]);
    }
  }
  std::sort(steps.begin(), steps.end());
  std::int64_t reach = 1;  // indices reached
  for (const auto& [step, count] : steps) {
    if (step > reach) {
      return false;
    }
    reach += step * (count - 1);
  }
  return true;
}

/// Whether the elements that an operand touches are the product of those of its dimensions, each an
/// interval: then they are counted exactly, and every core's part of them, too.
bool separable(const ir::Operand& operand, TableView<AxisId, const std::int64_t> size) {
  std::uint64_t met = 0;
  for (const ir::Dim& dim : operand.dims) {
    for (const AxisId axis : dim.axes) {
      const std::uint64_t bit = std::uint64_t{1} << axis.index();
      if ((met & bit) != 0) {
        return false;
      }
      met |= bit;
    }
    if (!gapless(dim, size)) {
      return false;
    }
  }
  return true;
}

/// Whether no two cores ever hold the same element of what `op` writes by `operand`, however it is
/// cut: what is missing in it are reduction axes, along which it is scattered, or axes never cut.
bool rests_once(const ir::Op& op, const ir::Operand& operand) {
  for (const AxisId i : op.axes.ids()) {
    const auto axis = i;
    if (op.axes[i].size > 1 && op.axes[i].role != ir::AxisRole::Reduction &&
        partition::divisible(op, axis) && !partition::contains(operand, axis)) {
      return false;
    }
  }
  return !operand.dims.empty() && separable(operand, partition::sizes(op));
}

}  // namespace

Table<TensorId, bool> rest_once(const ir::Graph& graph) {
  std::set<Table<DimId, std::int64_t>> twice;  // shapes
  for (const OpId i : graph.ops.ids()) {
    const ir::Op& op = graph.ops[i];
    if (ir::first_like(graph, i) != i) {
      continue;  // An earlier op has tensors of equal shapes.
    }
    for (const ir::Operand& operand : op.operands) {
      if (operand.access == ir::Access::Write && !rests_once(op, operand)) {
        twice.insert(graph.tensors[operand.tensor].shape);
      }
    }
  }
  Table<TensorId, bool> result;
  for (const ir::Tensor& tensor : graph.tensors) {
    result.push_back(!tensor.shape.empty() && !twice.contains(tensor.shape));
  }
  return result;
}

ActivationFloor::ActivationFloor(const Pricer& pricer)
    : hidden_(pricer.chip().interconnect.overlaps_compute),
      sync_(pricer.fabric().least_sync().value),
      fragment_(pricer.chip().interconnect.fragment_latency.value),
      rate_(pricer.chip().interconnect.link_rate *
                static_cast<double>(pricer.fabric().chip().receiving_links()) +
            chip::receiving_between(pricer.chip())) {
  const Table<TensorId, bool> once = rest_once(pricer.graph());
  std::int64_t most = 0;
  for (std::size_t i = 0; i < pricer.reads(); ++i) {
    const Slot& slot = pricer.slots()[i];
    const ir::Operand& operand = pricer.op().operands[slot.operand];
    if (!slot.hbm && !slot.indirect && separable(operand, pricer.size()) && once[operand.tensor]) {
      slots_.push_back({.slot = i, .bits = slot.unique * slot.bits});
      const ir::Tensor& tensor = pricer.graph().tensors[operand.tensor];
      if (slot.unique == ir::elements(tensor) && slots_.back().bits > most) {
        most = slots_.back().bits;
        largest_ = static_cast<std::int32_t>(i);
      }
    }
  }
}

std::int64_t ActivationFloor::moved(const Cut& cut) const {
  std::int64_t bits = 0;
  for (const RestSlot& one : slots_) {
    bits += (cut.held[one.slot].sharers - 1) * one.bits;
  }
  return bits / 8;
}

double ActivationFloor::seconds(std::int64_t bytes, std::int64_t cores) const {
  if (bytes == 0 || hidden_) {
    return 0.0;
  }
  return still(bytes) + (static_cast<double>(bytes) / (static_cast<double>(cores) * rate_));
}

double ActivationFloor::reduced(std::int64_t parts, std::int64_t bytes, std::int64_t cores) const {
  return sync_ + (static_cast<double>(parts - 1) * fragment_) +
         (static_cast<double>(bytes) / (static_cast<double>(cores) * rate_));
}

}  // namespace elk::cost
