#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "elk/base/rounding.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/order.hpp"
#include "elk/partition/plan.hpp"
#include "elk/partition/projection.hpp"

namespace elk::partition {
namespace {

bool picks(const ir::Operand& operand, std::int32_t axis) {
  return operand.indirect && std::find(operand.indirect->axes.begin(), operand.indirect->axes.end(),
                                       axis) != operand.indirect->axes.end();
}

/// The dimension that `axis` alone indexes with coefficient 1, null if there is none: only there
/// can part of a tile lie outside the tensor and be known from the axis alone.
const ir::Dim* own_dim(const ir::Operand& operand, std::int32_t axis, std::size_t& dim) {
  for (dim = 0; dim < operand.dims.size(); ++dim) {
    const ir::Dim& map = operand.dims[dim];
    if (map.axes.size() == 1 && map.axes[0] == axis && map.coef[0] == 1) {
      return &map;
    }
  }
  return nullptr;
}

Projection projection(const ir::Tensor& tensor, const ir::Op& op, const ir::Operand& operand,
                      const ExecutePlan& plan, bool of_picks) {
  std::vector<Digit> digits;
  for (const std::int32_t axis : plan.order) {
    const auto a = static_cast<std::size_t>(axis);
    const std::int64_t size = op.axes[a].size;
    std::size_t dim = 0;
    const ir::Dim* own = own_dim(operand, axis, dim);
    digits.push_back({.factor = plan.factors[a],
                      .tile = ceil_div(size, plan.factors[a]),
                      .size = size,
                      .offset = own != nullptr ? own->offset : 0,
                      .shape = own != nullptr ? tensor.shape[dim] : size,
                      .contained = contains(operand, axis) && picks(operand, axis) == of_picks});
  }
  return Projection(std::move(digits));
}

/// Elements of the whole operand that the op reads; picked dimensions count once.
double unique_elements(const ir::Tensor& tensor, const ir::Op& op, const ir::Operand& operand) {
  std::vector<std::int64_t> size;
  for (const ir::Axis& axis : op.axes) {
    size.push_back(axis.size);
  }
  double product = 1.0;
  for (std::size_t dim = 0; dim < operand.dims.size(); ++dim) {
    product *= static_cast<double>(extent(operand.dims[dim], tensor.shape[dim], size, size).count);
  }
  return product;
}

/// Picks of the whole op: the product of the sizes of the axes that count them.
double pick_count(const ir::Op& op, const ir::Operand& operand) {
  double product = 1.0;
  for (const std::int32_t axis : operand.indirect->axes) {
    product *= static_cast<double>(op.axes[static_cast<std::size_t>(axis)].size);
  }
  return product;
}

/// Bytes that the cores [begin, end) need, each once.
class Needs {
 public:
  Needs(const ir::Tensor& tensor, const ir::Op& op, const ir::Operand& operand,
        const ExecutePlan& plan)
      : pieces_(projection(tensor, op, operand, plan, false)),
        picks_(projection(tensor, op, operand, plan, true)),
        bits_(static_cast<double>(ir::bits(tensor.dtype))),
        unique_(unique_elements(tensor, op, operand)),
        picked_(operand.indirect ? pick_count(op, operand) : 0.0),
        expected_(operand.indirect ? operand.indirect->expected_picks : 1.0) {}

  [[nodiscard]] std::int64_t bytes(std::int64_t begin, std::int64_t end) const {
    if (begin >= std::min(end, pieces_.cores())) {
      return 0;
    }
    double rows = expected_;
    if (picked_ > 0.0) {
      rows = std::min(rows, picked_ * share(picks_, begin, end));
    }
    return static_cast<std::int64_t>(
        std::ceil(unique_ * share(pieces_, begin, end) * rows * bits_ / 8.0));
  }

  [[nodiscard]] std::int64_t cores() const { return pieces_.cores(); }

 private:
  static double share(const Projection& projection, std::int64_t begin, std::int64_t end) {
    const std::int64_t all = projection.elements(0, projection.cores());
    const std::int64_t part = projection.elements(begin, end);
    return part == all ? 1.0 : static_cast<double>(part) / static_cast<double>(all);
  }

  Projection pieces_;
  Projection picks_;
  double bits_;
  double unique_;
  double picked_;
  double expected_;
};

/// Ids of the cores in use, numbered without gaps, that one chip holds.
std::int64_t ids_of_chip(const ExecutePlan& plan, const chip::Chip& chip) {
  if (!chip::is_mesh(chip) || grid_of(chip).rows == 1) {
    return chip.core.count;
  }
  std::int64_t ids = chip.core.rows;
  for (const std::int32_t axis : plan.order) {
    const auto a = static_cast<std::size_t>(axis);
    ids *= plan.mesh_dims[a] == 1 ? plan.factors[a] : 1;
  }
  return ids;
}

/// The ids at which the digits selected by `contained` count up while the others stay 0.
std::vector<std::int64_t> ids_along(const ir::Operand& operand, const ExecutePlan& plan,
                                    bool contained) {
  std::vector<std::int64_t> ids{0};
  std::int64_t stride = 1;
  for (std::size_t i = plan.order.size(); i-- > 0;) {
    const std::int64_t factor = plan.factors[static_cast<std::size_t>(plan.order[i])];
    if (contains(operand, plan.order[i]) == contained) {
      std::vector<std::int64_t> more;
      for (std::int64_t v = 0; v < factor; ++v) {
        for (const std::int64_t id : ids) {
          more.push_back((v * stride) + id);
        }
      }
      ids = std::move(more);
    }
    stride *= factor;
  }
  return ids;
}

/// Whether no group of `reach` neighbouring sharers crosses from chip to chip.
bool stays_on_chip(std::span<const std::int64_t> pieces, std::span<const std::int64_t> sharers,
                   std::size_t reach, std::int64_t ids) {
  for (const std::int64_t piece : pieces) {
    for (std::size_t first = 0; first < sharers.size(); first += reach) {
      if ((piece + sharers[first]) / ids != (piece + sharers[first + reach - 1]) / ids) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

Sharing sharing(const ir::Graph& graph, const ir::Op& op, std::size_t operand,
                const ExecutePlan& plan, const chip::Chip& chip) {
  const ir::Operand& read = op.operands[operand];
  const ir::Tensor& tensor = graph.tensors[static_cast<std::size_t>(read.tensor)];
  std::int64_t ring = 1;
  for (const std::int64_t parts : plan.temporal[operand]) {
    ring *= parts;
  }
  Sharing result{.copies = sharers(op, operand, plan.factors) / ring,
                 .divisors = {},
                 .hbm_bytes = 0,
                 .chip_hbm_bytes = 0};
  const Needs needs(tensor, op, read, plan);
  const std::int64_t ids = ids_of_chip(plan, chip);
  for (std::int64_t begin = 0; begin < needs.cores(); begin += ids) {
    const std::int64_t bytes = needs.bytes(begin, begin + ids);
    result.hbm_bytes += bytes;
    result.chip_hbm_bytes = std::max(result.chip_hbm_bytes, bytes);
  }
  const bool one_chip = needs.cores() <= ids;
  const auto pieces = one_chip ? std::vector<std::int64_t>{} : ids_along(read, plan, true);
  const auto peers = one_chip ? std::vector<std::int64_t>{} : ids_along(read, plan, false);
  for (const std::int64_t d : divisors(result.copies)) {
    if (d == 1 || one_chip ||
        stays_on_chip(pieces, peers, static_cast<std::size_t>(d * ring), ids)) {
      result.divisors.push_back(d);
    }
  }
  return result;
}

}  // namespace elk::partition
