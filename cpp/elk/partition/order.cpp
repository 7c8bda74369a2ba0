#include "elk/partition/order.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "elk/partition/extent.hpp"
#include "elk/partition/plan.hpp"

namespace elk::partition {
namespace {

/// Bytes of the operands that contain `axis`, of those from HBM or of all reads.
std::int64_t bytes_along(const ir::Graph& graph, const ir::Op& op, std::int32_t axis, bool hbm) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const ir::Operand& operand = op.operands[i];
    if ((!hbm || from_hbm(graph, operand)) && contains(operand, axis) && first_like(op, i) == i) {
      sum += ir::bytes(graph.tensors[static_cast<std::size_t>(operand.tensor)]).value;
    }
  }
  return sum;
}

}  // namespace

std::vector<std::int32_t> axis_order(const ir::Graph& graph, const ir::Op& op) {
  std::vector<std::tuple<bool, std::int64_t, std::int64_t, std::int32_t>> keys;
  for (std::size_t i = 0; i < op.axes.size(); ++i) {
    const auto axis = static_cast<std::int32_t>(i);
    keys.emplace_back(op.axes[i].role != ir::AxisRole::Parallel,
                      -bytes_along(graph, op, axis, true), -bytes_along(graph, op, axis, false),
                      axis);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::int32_t> order;
  order.reserve(keys.size());
  for (const auto& key : keys) {
    order.push_back(std::get<3>(key));
  }
  return order;
}

std::vector<std::int32_t> core_order(const ir::Graph& graph, const ir::Op& op,
                                     const std::vector<std::int64_t>& factors) {
  std::vector<std::int32_t> order = axis_order(graph, op);
  std::erase_if(order,
                [&](std::int32_t axis) { return factors[static_cast<std::size_t>(axis)] == 1; });
  return order;
}

std::optional<std::vector<std::int32_t>> mesh_dims(const std::vector<std::int32_t>& order,
                                                   const std::vector<std::int64_t>& factors,
                                                   const chip::Chip& chip) {
  std::vector<std::int32_t> result(factors.size(), -1);
  if (!chip::is_mesh(chip)) {
    return result;
  }
  const Grid grid = grid_of(chip);
  const auto factor = [&](std::size_t i) { return factors[static_cast<std::size_t>(order[i])]; };
  const auto place = [&](std::size_t i, std::int32_t dim) {
    result[static_cast<std::size_t>(order[i])] = dim;
  };
  if (order.size() == 1 && factor(0) <= std::max(grid.rows, grid.cols)) {
    const bool along_row =
        factor(0) <= grid.cols && (grid.cols <= grid.rows || factor(0) > grid.rows);
    place(0, along_row ? 1 : 0);
  } else if (order.size() == 2 && factor(0) <= grid.rows && factor(1) <= grid.cols) {
    place(0, 0);
    place(1, 1);
  } else if (order.size() == 2 && factor(0) <= grid.cols && factor(1) <= grid.rows) {
    place(0, 1);
    place(1, 0);
  } else if (!order.empty()) {
    return std::nullopt;
  }
  return result;
}

std::vector<std::int64_t> strides(const std::vector<std::int64_t>& factors,
                                  const std::vector<std::int32_t>& order,
                                  const std::vector<std::int32_t>& mesh_dims,
                                  const chip::Chip& chip) {
  std::vector<std::int64_t> result(factors.size(), 0);
  std::int64_t inner = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i]);
    result[axis] = inner;
    if (mesh_dims[axis] >= 0) {
      result[axis] = mesh_dims[axis] == 0 ? grid_of(chip).cols : 1;
    }
    inner *= factors[axis];
  }
  return result;
}

Grid grid_of(const chip::Chip& chip) {
  if (chip.interconnect.topology == chip::Topology::Ring) {
    return {.rows = 1, .cols = chip::total_cores(chip)};
  }
  return {.rows = chip.chips * chip.core.rows, .cols = chip.core.cols};
}

}  // namespace elk::partition
