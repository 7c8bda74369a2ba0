#include "elk/partition/order.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/plan.hpp"

namespace elk::partition {
namespace {

/// Bytes of the operands that contain `axis`, of those from HBM or of all reads.
std::int64_t bytes_along(const ir::Graph& graph, const ir::Op& op, AxisId axis, bool hbm) {
  std::int64_t sum = 0;
  for (const OperandId i : op.operands.ids()) {
    const ir::Operand& operand = op.operands[i];
    if ((!hbm || from_hbm(graph, operand)) && contains(operand, axis) && first_like(op, i) == i) {
      sum += ir::bytes(graph.tensors[operand.tensor]).value;
    }
  }
  return sum;
}

}  // namespace

std::vector<AxisId> axis_order(const ir::Graph& graph, const ir::Op& op) {
  std::vector<std::tuple<bool, std::int64_t, std::int64_t, std::int32_t>> keys;
  for (const AxisId i : op.axes.ids()) {
    const auto axis = i;
    keys.emplace_back(op.axes[i].role != ir::AxisRole::Parallel,
                      -bytes_along(graph, op, axis, true), -bytes_along(graph, op, axis, false),
                      axis.value);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<AxisId> order;
  order.reserve(keys.size());
  for (const auto& key : keys) {
    order.push_back(AxisId{std::get<3>(key)});
  }
  return order;
}

std::vector<AxisId> core_order(const ir::Graph& graph, const ir::Op& op,
                               const Table<AxisId, std::int64_t>& factors) {
  std::vector<AxisId> order = axis_order(graph, op);
  std::erase_if(order, [&](AxisId axis) { return factors[axis] == 1; });
  return order;
}

namespace {

/// The shortest dimension of at least `factor` places, of equal ones the innermost; none: -1.
std::int32_t shortest(const chip::Network& network, std::int64_t factor) {
  std::int32_t best = -1;
  for (std::size_t dim = 0; dim < network.dims(); ++dim) {
    const std::int64_t length = network.length(dim);
    if (length >= factor && (best < 0 || length <= network.length(subscript(best)))) {
      best = static_cast<std::int32_t>(dim);
    }
  }
  return best;
}

/// Gives the axes from number `next` on the dimensions not `taken`, if they fit.
bool fit(const std::vector<AxisId>& order, const Table<AxisId, std::int64_t>& factors,
         const chip::Network& network, std::size_t next, Table<AxisId, std::int32_t>& dims) {
  if (next == order.size()) {
    return true;
  }
  const AxisId axis = order[next];
  for (std::size_t dim = 0; dim < network.dims(); ++dim) {
    const auto number = static_cast<std::int32_t>(dim);
    if (factors[axis] > network.length(dim) ||
        std::any_of(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(next),
                    [&](AxisId other) { return dims[other] == number; })) {
      continue;
    }
    dims[axis] = number;
    if (fit(order, factors, network, next + 1, dims)) {
      return true;
    }
  }
  dims[axis] = -1;
  return false;
}

}  // namespace

std::optional<Table<AxisId, std::int32_t>> mesh_dims(const std::vector<AxisId>& order,
                                                     const Table<AxisId, std::int64_t>& factors,
                                                     const chip::Network& machine) {
  Table<AxisId, std::int32_t> result(factors.size(), -1);
  if (!machine.routed() || order.empty()) {
    return result;
  }
  if (order.size() == 1) {
    const AxisId axis = order.front();
    result[axis] = shortest(machine, factors[axis]);
    return result[axis] < 0 ? std::nullopt : std::optional(std::move(result));
  }
  if (order.size() > machine.dims() || !fit(order, factors, machine, 0, result)) {
    return std::nullopt;
  }
  return result;
}

Table<AxisId, std::int64_t> strides(const Table<AxisId, std::int64_t>& factors,
                                    const std::vector<AxisId>& order,
                                    const Table<AxisId, std::int32_t>& mesh_dims,
                                    const chip::Chip& chip) {
  Table<AxisId, std::int64_t> result(factors.size(), 0);
  const chip::Network network = chip::network_of(chip);
  std::int64_t inner = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto axis = order[i];
    result[axis] = mesh_dims[axis] >= 0 ? network.stride(subscript(mesh_dims[axis])) : inner;
    inner *= factors[axis];
  }
  return result;
}

}  // namespace elk::partition
