#include "elk/cost/floor/activation_floor.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/chip/delivery.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/plan.hpp"

namespace elk::cost {
namespace {

/// Whether the indices of a map are an interval without gaps: steps of one, and no longer step than
/// what the shorter ones reach and one more.
bool gapless(const ir::Dim& dim, std::span<const std::int64_t> size) {
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;
  for (std::size_t i = 0; i < dim.axes.size(); ++i) {
    if (size[subscript(dim.axes[i])] > 1) {
      steps.emplace_back(std::abs(dim.coef[i]), size[subscript(dim.axes[i])]);
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
bool separable(const ir::Operand& operand, std::span<const std::int64_t> size) {
  std::uint64_t met = 0;
  for (const ir::Dim& dim : operand.dims) {
    for (const std::int32_t axis : dim.axes) {
      const std::uint64_t bit = std::uint64_t{1} << subscript(axis);
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
  for (std::size_t i = 0; i < op.axes.size(); ++i) {
    const auto axis = static_cast<std::int32_t>(i);
    if (op.axes[i].size > 1 && op.axes[i].role != ir::AxisRole::Reduction &&
        partition::divisible(op, axis) && !partition::contains(operand, axis)) {
      return false;
    }
  }
  return !operand.dims.empty() && separable(operand, partition::sizes(op));
}

/// Whether a tensor of this shape rests once wherever it is made.
bool once(const ir::Graph& graph, const ir::Tensor& tensor) {
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const ir::Op& op = graph.ops[i];
    const auto number = static_cast<std::int32_t>(i);
    if (ir::first_like(graph, number) != number) {
      continue;  // An earlier op has tensors of equal shapes.
    }
    for (const ir::Operand& operand : op.operands) {
      if (operand.access == ir::Access::Write &&
          graph.tensors[subscript(operand.tensor)].shape == tensor.shape &&
          !rests_once(op, operand)) {
        return false;
      }
    }
  }
  return !tensor.shape.empty();
}

}  // namespace

std::vector<bool> rest_once(const ir::Graph& graph, const ir::Op& op) {
  std::vector<bool> result;
  result.reserve(op.operands.size());
  for (const ir::Operand& operand : op.operands) {
    result.push_back(once(graph, graph.tensors[subscript(operand.tensor)]));
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
  const std::vector<bool> single = rest_once(pricer.graph(), pricer.op());
  std::int64_t most = 0;
  for (std::size_t i = 0; i < pricer.reads(); ++i) {
    const Slot& slot = pricer.slots()[i];
    const ir::Operand& operand = pricer.op().operands[slot.operand];
    if (!slot.hbm && !slot.indirect && separable(operand, pricer.size()) && single[slot.operand]) {
      slots_.push_back({.slot = i, .bits = slot.unique * slot.bits});
      const ir::Tensor& tensor = pricer.graph().tensors[subscript(operand.tensor)];
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
