#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "elk/base/errors.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/text.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/order.hpp"
#include "elk/partition/plan.hpp"
#include "elk/partition/rotation.hpp"

namespace elk::partition {
namespace {

template <class... Parts>
[[noreturn]] void refuse(const ir::Op& op, const Parts&... parts) {
  throw InvalidInput(text("plan of ", op.name, ": ", parts...), "invalid_plan");
}

void validate_shape(const ir::Op& op, const ExecutePlan& plan) {
  const std::size_t axes = op.axes.size();
  if (plan.factors.size() != axes || plan.pace.size() != axes || plan.mesh_dims.size() != axes) {
    refuse(op, "factors, pace and mesh_dims need one entry for each of ", axes, " axes");
  }
  if (plan.temporal.size() != op.operands.size()) {
    refuse(op, "temporal needs one row for each of ", op.operands.size(), " operands, got ",
           plan.temporal.size());
  }
}

void validate_factors(const ir::Op& op, const ExecutePlan& plan, const chip::Chip& chip) {
  std::int64_t cores = 1;
  for (std::size_t axis = 0; axis < op.axes.size(); ++axis) {
    const std::int64_t factor = plan.factors[axis];
    const std::int64_t size = op.axes[axis].size;
    if (factor < 1 || factor > size || ceil_div(size, ceil_div(size, factor)) != factor) {
      refuse(op, "factor ", factor, " of axis ", op.axes[axis].name, " of size ", size,
             " leaves cores without work");
    }
    if (factor > 1 && !divisible(op, static_cast<std::int32_t>(axis))) {
      refuse(op, "axis ", op.axes[axis].name, ", along which the op is whole, is cut by ", factor);
    }
    if (factor > chip::total_cores(chip) / cores) {  // The product might not fit 64 bits.
      refuse(op, "uses more than the ", chip::total_cores(chip), " cores of the chip");
    }
    cores *= factor;
  }
}

void validate_temporal(const ir::Op& op, std::size_t operand, const ExecutePlan& plan) {
  const std::vector<std::int64_t>& parts = plan.temporal[operand];
  if (parts.empty()) {
    return;
  }
  const ir::Operand& read = op.operands[operand];
  if (parts.size() != read.dims.size()) {
    refuse(op, "operand ", operand, " has ", read.dims.size(), " dimensions and ", parts.size(),
           " temporal factors");
  }
  const std::int64_t shared = sharers(op, operand, plan.factors);
  std::int64_t product = 1;
  for (std::size_t dim = 0; dim < parts.size(); ++dim) {
    if (parts[dim] < 1 || (parts[dim] > 1 && !rotates(op, operand, dim))) {
      refuse(op, "operand ", operand, " cannot be cut by ", parts[dim], " over time in dimension ",
             dim);
    }
    if (parts[dim] > shared / product) {  // The product might not fit 64 bits.
      refuse(op, "operand ", operand, " is cut by more over time than its ", shared, " sharers");
    }
    product *= parts[dim];
  }
  if (shared % product != 0) {
    refuse(op, "operand ", operand, " is cut by ", product,
           " over time, which does not divide its ", shared, " sharers");
  }
}

/// Paces on exactly the rotated axes, none longer than the shortest partition there.
void validate_paces(const ir::Op& op, const ExecutePlan& plan) {
  std::vector<std::int64_t> longest(op.axes.size(), 0);
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    for (std::size_t dim = 0; dim < plan.temporal[i].size(); ++dim) {
      if (plan.temporal[i][dim] > 1) {
        const auto axis = static_cast<std::size_t>(op.operands[i].dims[dim].axes[0]);
        const std::int64_t tile = ceil_div(op.axes[axis].size, plan.factors[axis]);
        const std::int64_t part = ceil_div(tile, plan.temporal[i][dim]);
        longest[axis] = longest[axis] == 0 ? part : std::min(longest[axis], part);
      }
    }
  }
  for (std::size_t axis = 0; axis < op.axes.size(); ++axis) {
    if (plan.pace[axis] < 0 || plan.pace[axis] > longest[axis] ||
        (longest[axis] > 0) != (plan.pace[axis] > 0)) {
      refuse(op, "pace ", plan.pace[axis], " along axis ", op.axes[axis].name,
             ", whose shortest rotating partition is ", longest[axis]);
    }
  }
}

/// `listed` holds every axis of which `wanted` is true, once, and no other.
template <class Wanted>
void validate_list(const ir::Op& op, std::vector<std::int32_t> listed, const char* name,
                   const Wanted& wanted) {
  std::sort(listed.begin(), listed.end());
  std::vector<std::int32_t> right;
  for (std::size_t axis = 0; axis < op.axes.size(); ++axis) {
    if (wanted(axis)) {
      right.push_back(static_cast<std::int32_t>(axis));
    }
  }
  if (listed != right) {
    refuse(op, name, " does not list exactly the axes it orders");
  }
}

/// Numbers with a cross between them.
std::string crossed(const chip::PerDim& sides, std::size_t dims) {
  std::string result;
  for (std::size_t dim = 0; dim < dims; ++dim) {
    result += text(dim > 0 ? " x " : "", sides[dim]);
  }
  return result;
}

void validate_grid(const ir::Op& op, const ExecutePlan& plan, const chip::Chip& chip) {
  const chip::Network network = chip::network_of_machine(chip);
  const auto dims = static_cast<std::int32_t>(network.dims());
  chip::PerDim used{1, 1, 1};
  for (std::size_t axis = 0; axis < op.axes.size(); ++axis) {
    const std::int32_t dim = plan.mesh_dims[axis];
    const bool placed = network.routed() && plan.factors[axis] > 1;
    if (dim < -1 || dim >= std::max(dims, 2) || (dim >= 0) != placed) {
      refuse(op, "axis ", op.axes[axis].name, " lies along mesh dimension ", dim);
    }
    if (dim >= 0 && std::exchange(used[static_cast<std::size_t>(dim)], plan.factors[axis]) > 1) {
      refuse(op, "two axes lie along mesh dimension ", dim);
    }
  }
  for (std::size_t dim = 0; dim < network.dims(); ++dim) {
    if (used[dim] > network.length(dim)) {
      refuse(op, crossed(used, network.dims()), " cores do not fit a grid of ",
             crossed(network.sides(), network.dims()));
    }
  }
}

/// A dimension of an operand along which it rotates.
struct OperandBeat {
  std::size_t operand;
  Circle circle;
  Beat beat;
};

std::vector<OperandBeat> spins(const ir::Op& op, const ExecutePlan& plan, const chip::Chip& chip) {
  std::vector<OperandBeat> result;
  for (std::size_t operand = 0; operand < op.operands.size(); ++operand) {
    const Rotation turns = rotation(op, operand, plan, chip);
    std::uint64_t axes = 0;
    for (const std::int32_t axis : turns.axes) {
      axes |= std::uint64_t{1} << static_cast<std::uint32_t>(axis);
    }
    for (const Circle& circle : turns.circles) {
      result.push_back({.operand = operand,
                        .circle = circle,
                        .beat = {.axes = axes, .parts = circle.parts, .stride = circle.stride}});
    }
  }
  return result;
}

/// What two dimensions along which operands rotate ask of each other.
void validate_beside(const ir::Op& op, const OperandBeat& one, const OperandBeat& other) {
  if (one.circle.axis != other.circle.axis) {
    return;
  }
  const std::string& axis = op.axes[static_cast<std::size_t>(one.circle.axis)].name;
  if (one.operand == other.operand) {
    refuse(op, "operand ", one.operand, " rotates along axis ", axis, " in dimensions ",
           one.circle.dim, " and ", other.circle.dim);
  }
  if (!in_step(one.beat, other.beat)) {
    refuse(op, "operands ", one.operand, " and ", other.operand,
           " share cores and rotate along axis ", axis,
           " in different circles: their partitions would not meet");
  }
}

void validate_circles(const ir::Op& op, const ExecutePlan& plan, const chip::Chip& chip) {
  const std::vector<OperandBeat> all = spins(op, plan, chip);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      validate_beside(op, all[i], all[j]);
    }
  }
}

}  // namespace

void validate(const ir::Graph& graph, const ir::Op& op, const ExecutePlan& plan,
              const chip::Chip& chip) {
  static_cast<void>(graph);
  validate_shape(op, plan);
  validate_factors(op, plan, chip);
  for (std::size_t operand = 0; operand < op.operands.size(); ++operand) {
    validate_temporal(op, operand, plan);
  }
  validate_paces(op, plan);
  validate_list(op, plan.order, "order", [&](std::size_t axis) { return plan.factors[axis] > 1; });
  validate_list(op, plan.loops, "loops", [&](std::size_t axis) { return plan.pace[axis] > 0; });
  validate_grid(op, plan, chip);
  validate_circles(op, plan, chip);
}

}  // namespace elk::partition
