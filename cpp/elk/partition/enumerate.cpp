#include "elk/partition/enumerate.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/order.hpp"

namespace elk::partition {

Table<AxisId, std::int64_t> distinct_factors(std::int64_t size, std::int64_t limit) {
  Table<AxisId, std::int64_t> result;
  std::int64_t factor = 1;
  while (factor <= limit) {
    result.push_back(factor);
    const std::int64_t tile = ceil_div(size, factor);
    if (tile == 1) {
      break;
    }
    factor = ceil_div(size, tile - 1);
  }
  return result;
}

std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> result;
  std::vector<std::int64_t> large;
  for (std::int64_t d = 1; d * d <= number; ++d) {
    if (number % d == 0) {
      result.push_back(d);
      if (d * d != number) {
        large.push_back(number / d);
      }
    }
  }
  result.insert(result.end(), large.rbegin(), large.rend());
  return result;
}

std::vector<std::int64_t> temporal_factors(std::int64_t tile, std::int64_t sharers) {
  std::vector<std::int64_t> result;
  std::int64_t part = tile + 1;
  for (const std::int64_t t : divisors(sharers)) {
    if (ceil_div(tile, t) < part) {
      part = ceil_div(tile, t);
      result.push_back(t);
    }
  }
  return result;
}

bool rotates(const ir::Op& op, OperandId operand, DimId dim) {
  const ir::Operand& read = op.operands[operand];
  return read.access == ir::Access::Read && !read.indirect && !ir::is_collective(op.kind) &&
         simple(read.dims[dim]) && divisible(op, read.dims[dim].axes[0]);
}

Table<AxisId, std::int64_t> paces(const ir::Op& op, const ExecutePlan& plan) {
  Table<AxisId, std::int64_t> result(op.axes.size(), 0);
  for (const OperandId i : op.operands.ids()) {
    for (const DimId dim : plan.temporal[i].ids()) {
      if (plan.temporal[i][dim] == 1) {
        continue;
      }
      const auto axis = op.operands[i].dims[dim].axes[0];
      const std::int64_t tile = ceil_div(op.axes[axis].size, plan.factors[axis]);
      const std::int64_t part = ceil_div(tile, plan.temporal[i][dim]);
      result[axis] = result[axis] == 0 ? part : std::min(result[axis], part);
    }
  }
  return result;
}

std::vector<AxisId> loop_order(const ir::Graph& graph, const ir::Op& op, const ExecutePlan& plan,
                               const chip::Chip& chip) {
  const Footprint held = footprint(graph, op, plan, chip);
  std::vector<std::pair<std::int64_t, AxisId>> loops;
  for (const AxisId axis : op.axes.ids()) {
    std::int64_t bytes = 0;
    for (const OperandId i : op.operands.ids()) {
      for (const DimId dim : plan.temporal[i].ids()) {
        const bool here = plan.temporal[i][dim] > 1 && first_like(op, i) == i &&
                          op.operands[i].dims[dim].axes[0] == axis;
        bytes += here ? held.operand[i].value : 0;
      }
    }
    if (plan.pace[axis] > 0) {
      loops.emplace_back(-bytes, static_cast<std::int32_t>(axis.value));
    }
  }
  std::sort(loops.begin(), loops.end());
  std::vector<AxisId> order;
  order.reserve(loops.size());
  for (const auto& loop : loops) {
    order.push_back(loop.second);
  }
  return order;
}

std::optional<ExecutePlan> complete_plan(const ir::Graph& graph, const ir::Op& op,
                                         Table<AxisId, std::int64_t> factors,
                                         Table<OperandId, Table<DimId, std::int64_t>> temporal,
                                         const chip::Chip& chip) {
  ExecutePlan plan{.factors = std::move(factors),
                   .temporal = std::move(temporal),
                   .pace = Table<AxisId, std::int64_t>(op.axes.size(), 0),
                   .order = {},
                   .loops = {},
                   .mesh_dims = {}};
  plan.order = core_order(graph, op, plan.factors);
  std::optional<Table<AxisId, std::int32_t>> dims =
      mesh_dims(plan.order, plan.factors, chip::network_of_machine(chip));
  if (!dims) {
    return std::nullopt;
  }
  plan.mesh_dims = std::move(*dims);
  std::stable_sort(plan.order.begin(), plan.order.end(),
                   [&](AxisId a, AxisId b) { return plan.mesh_dims[a] < plan.mesh_dims[b]; });
  plan.pace = paces(op, plan);
  plan.loops = loop_order(graph, op, plan, chip);
  return plan;
}

}  // namespace elk::partition
