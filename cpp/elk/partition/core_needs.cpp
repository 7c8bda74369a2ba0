#include "elk/partition/core_needs.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/order.hpp"
#include "elk/partition/plan.hpp"

namespace elk::partition {
namespace {

bool picks(const ir::Operand& operand, AxisId axis) {
  return operand.indirect && std::find(operand.indirect->axes.begin(), operand.indirect->axes.end(),
                                       axis) != operand.indirect->axes.end();
}

/// The dimension that `axis` alone indexes with coefficient 1, null if there is none: only there
/// can part of a tile lie outside the tensor and be known from the axis alone.
const ir::Dim* own_dim(const ir::Operand& operand, AxisId axis, DimId& dim) {
  for (dim = DimId{0}; dim.index() < operand.dims.size(); ++dim) {
    const ir::Dim& map = operand.dims[dim];
    if (map.axes.size() == 1 && map.axes[0] == axis && map.coef[0] == 1) {
      return &map;
    }
  }
  return nullptr;
}

struct CutOrder {
  const Table<AxisId, std::int64_t>& factors;
  const std::vector<AxisId>& order;
};

Projection projection(const ir::Tensor& tensor, const ir::Op& op, const ir::Operand& operand,
                      const CutOrder& cut, bool of_picks) {
  std::vector<Digit> digits;
  for (const AxisId axis : cut.order) {
    const auto a = axis;
    const std::int64_t size = op.axes[a].size;
    DimId dim{0};
    const ir::Dim* own = own_dim(operand, axis, dim);
    digits.push_back({.factor = cut.factors[a],
                      .tile = ceil_div(size, cut.factors[a]),
                      .size = size,
                      .offset = own != nullptr ? own->offset : 0,
                      .shape = own != nullptr ? tensor.shape[dim] : size,
                      .contained = contains(operand, axis) && picks(operand, axis) == of_picks});
  }
  return Projection(std::move(digits));
}

/// Elements of the whole operand that the op reads; picked dimensions count once.
double unique_elements(const ir::Tensor& tensor, const ir::Op& op, const ir::Operand& operand) {
  const Table<AxisId, std::int64_t> size = sizes(op);
  double product = 1.0;
  for (const DimId dim : operand.dims.ids()) {
    product *= static_cast<double>(extent(operand.dims[dim], tensor.shape[dim], size, size).count);
  }
  return product;
}

/// Picks of the whole op: the product of the sizes of the axes that count them; 0: none.
double pick_count(const ir::Op& op, const ir::Operand& operand) {
  if (!operand.indirect) {
    return 0.0;
  }
  double product = 1.0;
  for (const AxisId axis : operand.indirect->axes) {
    product *= static_cast<double>(op.axes[axis].size);
  }
  return product;
}

double expected_picks(const ir::Operand& operand) {
  return operand.indirect ? operand.indirect->expected_picks : 1.0;
}

double share(const Projection& projection, std::int64_t begin, std::int64_t end) {
  const std::int64_t all = projection.elements(0, projection.cores());
  const std::int64_t part = projection.elements(begin, end);
  return part == all ? 1.0 : static_cast<double>(part) / static_cast<double>(all);
}

const ir::Tensor& stored(const ir::Graph& graph, const ir::Operand& operand) {
  return graph.tensors[operand.tensor];
}

}  // namespace

double expected_share(const ir::Graph& graph, const ir::Op& op, OperandId operand,
                      const ExecutePlan& plan) {
  const ir::Operand& read = op.operands[operand];
  if (!read.indirect) {
    return 1.0;
  }
  const Table<AxisId, std::int64_t> tile = tiling(op, plan).tile;
  const std::int64_t picks =
      extent(stored(graph, read), read, read.indirect->dim, tile, tile).count;
  return std::min(1.0, read.indirect->expected_picks / static_cast<double>(picks));
}

CoreNeeds::CoreNeeds(const ir::Graph& graph, const ir::Op& op, OperandId operand,
                     const Table<AxisId, std::int64_t>& factors, const std::vector<AxisId>& order)
    : pieces_(projection(stored(graph, op.operands[operand]), op, op.operands[operand],
                         {.factors = factors, .order = order}, false)),
      picks_(projection(stored(graph, op.operands[operand]), op, op.operands[operand],
                        {.factors = factors, .order = order}, true)),
      bits_(static_cast<double>(ir::bits(stored(graph, op.operands[operand]).dtype))),
      unique_(unique_elements(stored(graph, op.operands[operand]), op, op.operands[operand])),
      picked_(pick_count(op, op.operands[operand])),
      expected_(expected_picks(op.operands[operand])) {}

std::int64_t CoreNeeds::bytes(std::int64_t begin, std::int64_t end) const {
  if (begin >= std::min(end, pieces_.cores())) {
    return 0;
  }
  const double rows =
      picked_ > 0.0 ? std::min(expected_, picked_ * share(picks_, begin, end)) : expected_;
  return static_cast<std::int64_t>(
      std::ceil(unique_ * share(pieces_, begin, end) * rows * bits_ / 8.0));
}

std::int64_t CoreNeeds::straddling(std::int64_t boundary) const {
  if (boundary >= pieces_.cores()) {
    return 0;
  }
  return pieces_.pieces(0, boundary) + pieces_.pieces(boundary, pieces_.cores()) -
         pieces_.pieces(0, pieces_.cores());
}

std::int64_t lacking(std::int64_t bytes, std::int64_t chips) {
  return ceil_div(bytes * (chips - 1), chips);
}

std::int64_t most_lacking(const CoreNeeds& needs, std::int64_t ids, std::int64_t chips) {
  std::int64_t most = 0;
  for (std::int64_t chip = 0; chip < chips; ++chip) {
    most = std::max(most, needs.bytes(chip * ids, (chip + 1) * ids));
  }
  return lacking(most, chips);
}

std::int64_t ids_of_chip(const Table<AxisId, std::int64_t>& factors,
                         const std::vector<AxisId>& order,
                         const Table<AxisId, std::int32_t>& mesh_dims, const chip::Chip& chip) {
  const chip::Network network = chip::network_of(chip);
  const std::size_t stacked = network.stacked();
  if (!network.routed() || (stacked == 0 && network.length(0) * chip.chips == 1)) {
    return chip.core.count;
  }
  std::int64_t ids = network.length(stacked);
  for (const AxisId axis : order) {
    const auto a = axis;
    ids *= mesh_dims[a] != static_cast<std::int32_t>(stacked) ? factors[a] : 1;
  }
  return ids;
}

bool is_wide(const ExecutePlan& plan, const chip::Chip& chip) {
  std::int64_t cores = 1;
  for (const std::int64_t factor : plan.factors) {
    cores *= factor;
  }
  return cores > ids_of_chip(plan.factors, plan.order, plan.mesh_dims, chip);
}

}  // namespace elk::partition
