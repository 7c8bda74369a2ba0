#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/chip/chip.hpp"
#include "elk/cost/option.hpp"
#include "elk/cost/price/price.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/tile/tile.hpp"
#include "partition/ops.hpp"

/// Plans of one op counted out slowly, with arithmetic of their own: what the search must agree
/// with. Only small shapes.
namespace elk::test {

using Numbers = Table<AxisId, std::int64_t>;

struct NaivePlan {
  Numbers factors;
  Table<OperandId, Table<DimId, std::int64_t>> temporal;
  std::int64_t space = 0;
  std::int64_t exchange = 0;
  std::int64_t hbm = 0;  // on the busiest chip
  double time = 0.0;

  friend bool operator==(const NaivePlan& a, const NaivePlan& b) {
    return a.factors == b.factors && a.temporal == b.temporal;
  }
  friend bool operator<(const NaivePlan& a, const NaivePlan& b) {
    return std::tie(a.factors, a.temporal) < std::tie(b.factors, b.temporal);
  }
};

/// The rule of space that plan files are checked by: packed axes, or the largest clipped box.
inline std::int64_t naive_extent(const ir::Op& op, const ir::Dim& dim, std::int64_t shape,
                                 const Numbers& tile) {
  std::int64_t product = 1;
  std::int64_t inner = 1;
  bool packed = dim.offset == 0;
  for (std::size_t i = dim.axes.size(); i-- > 0;) {
    const auto axis = dim.axes[i];
    packed = packed && dim.coef[i] == inner;
    inner *= op.axes[axis].size;
    product *= tile[axis];
  }
  if (dim.axes.empty() || packed) {
    return std::min(shape, product);
  }
  std::int64_t best = 1;
  Numbers index(dim.axes.size(), 0);
  std::int64_t step = 0;
  for (const std::int64_t coef : dim.coef) {
    step = std::gcd(step, coef);
  }
  for (bool more = true; more;) {
    std::int64_t low = dim.offset;
    std::int64_t high = dim.offset;
    std::int64_t points = 1;
    for (const AxisId i : index.ids()) {
      const auto axis = dim.axes[i.index()];
      const std::int64_t first = index[i] * tile[axis];
      const std::int64_t last = std::min(op.axes[axis].size, first + tile[axis]) - 1;
      low += dim.coef[i.index()] * first;
      high += dim.coef[i.index()] * last;
      points *= last - first + 1;
    }
    const std::int64_t span = std::min(high, shape - 1) - std::max<std::int64_t>(low, 0);
    best = std::max(best, std::min((span / step) + 1, points));
    more = false;
    for (std::size_t i = index.size(); i-- > 0 && !more;) {
      const auto axis = dim.axes[i];
      more = ++index[id_at<AxisId>(i)] * tile[axis] < op.axes[axis].size;
      index[id_at<AxisId>(i)] = more ? index[id_at<AxisId>(i)] : 0;
    }
  }
  return best;
}

inline bool named(const std::vector<AxisId>& axes, AxisId axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

inline bool naive_contains(const ir::Operand& operand, AxisId axis) {
  return (operand.indirect && named(operand.indirect->axes, axis)) ||
         std::any_of(operand.dims.begin(), operand.dims.end(),
                     [&](const ir::Dim& dim) { return named(dim.axes, axis); });
}

inline std::int64_t naive_sharers(const ir::Op& op, const ir::Operand& operand,
                                  const Numbers& factors) {
  std::int64_t product = 1;
  for (const AxisId axis : factors.ids()) {
    product *= naive_contains(operand, axis) ? 1 : factors[axis];
  }
  static_cast<void>(op);
  return product;
}

inline Numbers naive_tile(const ir::Op& op, const Numbers& factors) {
  Numbers tile;
  for (const AxisId axis : factors.ids()) {
    tile.push_back(ceil_div(op.axes[axis].size, factors[axis]));
  }
  return tile;
}

inline std::int64_t naive_elements(const OneOp& one, OperandId operand, const Numbers& tile) {
  const ir::Operand& named = one.op().operands[operand];
  const ir::Tensor& tensor = one.graph.tensors[named.tensor];
  std::int64_t elements = 1;
  for (std::size_t dim = 0; dim < named.dims.size(); ++dim) {
    if (named.indirect && named.indirect->dim.index() == dim) {
      std::int64_t picks = 1;
      for (const AxisId axis : named.indirect->axes) {
        picks *= tile[axis];
      }
      elements *= std::min(picks, tensor.shape[id_at<DimId>(dim)]);
    } else {
      elements *= naive_extent(one.op(), named.dims[id_at<DimId>(dim)],
                               tensor.shape[id_at<DimId>(dim)], tile);
    }
  }
  return elements;
}

/// Every list of one item of each of `choices`.
template <class Item>
std::vector<std::vector<Item>> combinations(const std::vector<std::vector<Item>>& choices) {
  std::vector<std::vector<Item>> result{{}};
  for (const std::vector<Item>& items : choices) {
    std::vector<std::vector<Item>> longer;
    for (const std::vector<Item>& before : result) {
      for (const Item& item : items) {
        longer.push_back(before);
        longer.back().push_back(item);
      }
    }
    result = std::move(longer);
  }
  return result;
}

/// Every F_op with different tiles on at most `cores` cores.
inline std::vector<Numbers> naive_factors(const ir::Op& op, std::int64_t cores) {
  std::vector<std::vector<std::int64_t>> choices;
  for (const ir::Axis& axis : op.axes) {
    std::vector<std::int64_t> factors;
    for (std::int64_t f = 1; f <= std::min(axis.size, cores); ++f) {
      if (f == 1 || ceil_div(axis.size, f) != ceil_div(axis.size, f - 1)) {
        factors.push_back(f);
      }
    }
    choices.push_back(factors);
  }
  std::vector<Numbers> result;
  for (const std::vector<std::int64_t>& factors : combinations(choices)) {
    const std::int64_t product =
        std::accumulate(factors.begin(), factors.end(), std::int64_t{1}, std::multiplies<>());
    if (product <= cores) {
      result.emplace_back(factors);
    }
  }
  return result;
}

/// Every way to split each operand over time along at most one dimension.
inline std::vector<Table<OperandId, Table<DimId, std::int64_t>>> naive_temporals(
    const OneOp& one, const Numbers& factors) {
  const ir::Op& op = one.op();
  const Numbers tile = naive_tile(op, factors);
  std::vector<std::vector<Table<DimId, std::int64_t>>> choices;
  for (const ir::Operand& operand : op.operands) {
    std::vector<Table<DimId, std::int64_t>> rows{{}};
    const std::int64_t sharers = naive_sharers(op, operand, factors);
    for (std::size_t dim = 0; dim < operand.dims.size(); ++dim) {
      const ir::Dim& map = operand.dims[id_at<DimId>(dim)];
      if (operand.access == ir::Access::Write || operand.indirect || map.axes.size() != 1 ||
          map.coef[0] != 1 || map.offset != 0) {
        continue;
      }
      const std::int64_t length = tile[map.axes[0]];
      std::int64_t last = length;
      for (std::int64_t t = 2; t <= sharers; ++t) {
        if (sharers % t == 0 && ceil_div(length, t) < last) {
          last = ceil_div(length, t);
          Table<DimId, std::int64_t> row(operand.dims.size(), 1);
          row[id_at<DimId>(dim)] = t;
          rows.push_back(row);
        }
      }
    }
    choices.push_back(rows);
  }
  std::vector<Table<OperandId, Table<DimId, std::int64_t>>> result;
  for (const auto& rows : combinations(choices)) {
    result.emplace_back(rows);
  }
  return result;
}

/// The parts of a row of temporal factors, and the axis along which they lie: -1 where it is whole.
inline std::pair<AxisId, std::int64_t> naive_spin(const ir::Operand& operand, const Numbers& row) {
  for (std::size_t dim = 0; dim < row.size(); ++dim) {
    if (row[id_at<AxisId>(dim)] > 1) {
      return {operand.dims[id_at<DimId>(dim)].axes[0], row[id_at<AxisId>(dim)]};
    }
  }
  return {AxisId::none, 1};
}

/// Whether operands that rotate along one axis share no cut axis, or all of them in as many parts.
inline bool naive_in_step(const ir::Op& op, const Numbers& factors,
                          const Table<OperandId, Table<DimId, std::int64_t>>& temporal) {
  const auto shared = [&](OperandId operand) {
    std::vector<bool> axes;
    for (const AxisId axis : factors.ids()) {
      axes.push_back(factors[axis] > 1 && !naive_contains(op.operands[operand], axis));
    }
    return axes;
  };
  for (const OperandId i : temporal.ids()) {
    for (OperandId j{0}; j < i; ++j) {
      const auto [axis, parts] = naive_spin(op.operands[i], temporal[i]);
      const auto beside = naive_spin(op.operands[j], temporal[j]);
      if (axis == AxisId::none || axis != beside.first) {
        continue;
      }
      const std::vector<bool> one = shared(i);
      const std::vector<bool> other = shared(j);
      const bool apart =
          std::inner_product(one.begin(), one.end(), other.begin(), std::int64_t{0}) == 0;
      if (!apart && (one != other || parts != beside.second)) {
        return false;
      }
    }
  }
  return true;
}

inline std::int64_t in_eights(std::int64_t elements, std::int64_t bits) {
  return round_up(ceil_div(elements * bits, 8), 8);
}

/// Space of a result: its tile, and a partial one with the room to receive those of others. Partial
/// tiles are dealt out along the dimension of which a part arrives soonest, a run of neighbouring
/// elements counted as what a link carries in the time that one adds.
inline std::int64_t naive_result(const OneOp& one, OperandId operand, const NaivePlan& plan,
                                 const chip::Chip& chip, std::int64_t& parts, std::int64_t& piece) {
  const ir::Op& op = one.op();
  const ir::Operand& result = op.operands[operand];
  const Numbers tile = naive_tile(op, plan.factors);
  bool accumulates = false;
  parts = 1;
  for (const AxisId axis : op.axes.ids()) {
    if (op.axes[axis].role == ir::AxisRole::Reduction && !naive_contains(result, axis)) {
      parts *= plan.factors[axis];
      accumulates = accumulates || plan.factors[axis] > 1;
      for (const OperandId i : op.operands.ids()) {
        for (std::size_t dim = 0; dim < plan.temporal[i].size(); ++dim) {
          accumulates = accumulates || (plan.temporal[i][id_at<DimId>(dim)] > 1 &&
                                        named(op.operands[i].dims[id_at<DimId>(dim)].axes, axis));
        }
      }
    }
  }
  const std::int64_t bits =
      accumulates ? ir::bits(op.accumulate) : ir::bits(one.graph.tensors.back().dtype);
  const std::int64_t elements = naive_elements(one, operand, tile);
  piece = elements;
  const chip::Interconnect& links = chip.interconnect;
  const auto run = static_cast<std::int64_t>(links.fragment_latency.value * links.link_rate * 8) /
                   std::max(ir::bits(op.accumulate), ir::bits(one.graph.tensors.back().dtype));
  std::int64_t runs = 1;
  std::int64_t least = elements + run;
  for (std::size_t dim = 0; dim < result.dims.size() && parts > 1; ++dim) {
    const std::int64_t count =
        naive_extent(op, result.dims[id_at<DimId>(dim)],
                     one.graph.tensors[result.tensor].shape[id_at<DimId>(dim)], tile);
    const std::int64_t part = elements / count * ceil_div(count, parts);
    if (part + (runs * run) < least) {
      least = part + (runs * run);
      piece = part;
    }
    runs *= count;
  }
  return in_eights(elements, bits) + (parts > 1 ? in_eights((parts - 1) * piece, bits) : 0);
}

/// Shifts of every tensor: their number and the bytes of each.
inline std::int64_t naive_shifts(const OneOp& one, const partition::ExecutePlan& plan) {
  const ir::Op& op = one.op();
  std::int64_t bytes = 0;
  for (const OperandId i : op.operands.ids()) {
    for (std::size_t dim = 0; dim < plan.temporal[i].size(); ++dim) {
      if (plan.temporal[i][id_at<DimId>(dim)] == 1) {
        continue;
      }
      const AxisId axis = op.operands[i].dims[id_at<DimId>(dim)].axes[0];
      Numbers tile = naive_tile(op, plan.factors);
      std::int64_t trips = 1;
      for (const AxisId loop : plan.loops) {
        const auto at = loop;
        trips *= ceil_div(tile[at], plan.pace[at]);
        if (loop == axis) {
          break;
        }
      }
      tile[axis] = plan.pace[axis];
      bytes += (trips - 1) * ceil_div(naive_elements(one, i, tile) * ir::bits(op.compute), 8);
    }
  }
  return bytes;
}

/// Bytes that the two rounds of a softmax bring to a core of `cut` that share a row: one value a
/// row from each of the others, or from one other at a time.
inline std::int64_t naive_rows(const ir::Op& op, const Numbers& factors, bool tree) {
  std::int64_t cut = 1;
  std::int64_t rows = 1;
  for (const AxisId axis : factors.ids()) {
    if (op.axes[axis].role == ir::AxisRole::Row) {
      cut *= factors[axis];
    } else {
      rows *= ceil_div(op.axes[axis].size, factors[axis]);
    }
  }
  std::int64_t levels = 0;
  while ((std::int64_t{1} << levels) < cut) {
    ++levels;
  }
  return 2 * (tree ? levels : cut - 1) * rows * ir::bits(op.accumulate) / 8;
}

/// Space and exchange by the rules of design 3.2 and 3.3; time as the library prices it.
inline NaivePlan naive_plan(const OneOp& one, const Numbers& factors,
                            const Table<OperandId, Table<DimId, std::int64_t>>& temporal,
                            const chip::Chip& chip, const tile::TileModel& tiles) {
  const ir::Op& op = one.op();
  NaivePlan plan{.factors = factors, .temporal = temporal};
  const auto full = partition::complete_plan(one.graph, op, factors, temporal, chip);
  if (!full) {
    plan.space = -1;
    return plan;
  }
  const std::int64_t bits = ir::bits(op.compute);
  for (const OperandId i : op.operands.ids()) {
    if (op.operands[i].access == ir::Access::Write) {
      std::int64_t parts = 1;
      std::int64_t piece = 0;
      plan.space += naive_result(one, i, plan, chip, parts, piece);
      plan.exchange += (parts - 1) * ceil_div(piece * ir::bits(op.accumulate), 8);
      continue;
    }
    Numbers tile = naive_tile(op, factors);
    for (std::size_t dim = 0; dim < temporal[i].size(); ++dim) {
      if (temporal[i][id_at<DimId>(dim)] > 1) {
        auto& length = tile[op.operands[i].dims[id_at<DimId>(dim)].axes[0]];
        length = ceil_div(length, temporal[i][id_at<DimId>(dim)]);
      }
    }
    const std::int64_t elements = naive_elements(one, i, tile);
    plan.space += in_eights(elements, bits);
    const ir::Home home = one.graph.tensors[op.operands[i].tensor].home;
    if (home == ir::Home::Activation) {
      plan.exchange += ceil_div(elements * bits, 8);
    }
  }
  plan.exchange += naive_shifts(one, *full);
  const cost::PlanOption option = cost::price(one.graph, op, *full, chip, tiles);
  plan.time = option.time.value;
  plan.exchange += naive_rows(op, factors, option.tree);
  for (const OperandId i : op.operands.ids()) {
    if (partition::from_hbm(one.graph, op.operands[i])) {
      plan.hbm += partition::sharing(one.graph, op, i, *full, chip).chip_hbm_bytes;
    }
  }
  return plan;
}

/// Every plan that fits the grid, whether it fits SRAM or not.
inline std::vector<NaivePlan> naive_plans(const OneOp& one, const chip::Chip& chip,
                                          const tile::TileModel& tiles) {
  std::vector<NaivePlan> plans;
  for (const Numbers& factors : naive_factors(one.op(), chip::total_cores(chip))) {
    for (const Table<OperandId, Table<DimId, std::int64_t>>& temporal :
         naive_temporals(one, factors)) {
      if (!naive_in_step(one.op(), factors, temporal)) {
        continue;
      }
      plans.push_back(naive_plan(one, factors, temporal, chip, tiles));
      if (plans.back().space < 0) {
        plans.pop_back();
      }
    }
  }
  return plans;
}

/// The plans of `all` that no other covers; of equals the lesser.
inline std::vector<NaivePlan> naive_front(const std::vector<NaivePlan>& all) {
  std::vector<NaivePlan> front;
  for (const NaivePlan& plan : all) {
    const bool covered = std::any_of(all.begin(), all.end(), [&](const NaivePlan& other) {
      const bool equal = std::tie(other.space, other.exchange, other.hbm, other.time) ==
                         std::tie(plan.space, plan.exchange, plan.hbm, plan.time);
      return equal ? other < plan
                   : other.space <= plan.space && other.exchange <= plan.exchange &&
                         other.hbm <= plan.hbm && other.time <= plan.time;
    });
    if (!covered) {
      front.push_back(plan);
    }
  }
  std::sort(front.begin(), front.end());
  return front;
}

}  // namespace elk::test
