#include "elk/emulate/machine/pieces.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/rounding.hpp"
#include "elk/partition/plan.hpp"

namespace elk::emulate {
namespace {

/// The tiles of the axes that `cut` selects, each the ranges of all axes within `within`.
std::vector<Ranges> tiles(const Ranges& within, const std::vector<std::int64_t>& factors,
                          const std::vector<char>& cut) {
  std::vector<Ranges> result{within};
  for (std::size_t axis = 0; axis < within.size(); ++axis) {
    if (cut[axis] == 0) {
      continue;
    }
    const std::int64_t length =
        std::max<std::int64_t>(ceil_div(within[axis].length(), factors[axis]), 1);
    std::vector<Ranges> next;
    for (const Ranges& ranges : result) {
      for (std::int64_t begin = within[axis].begin; begin < within[axis].end; begin += length) {
        next.push_back(ranges);
        next.back()[axis] = {.begin = begin, .end = std::min(begin + length, within[axis].end)};
      }
    }
    result = std::move(next);
  }
  return result;
}

/// Partial results that are stored at accumulate width between two sums.
Numbers summed(const KernelCall& whole, const std::vector<Ranges>& parts) {
  const std::size_t operand = result_operands(whole.op).front();
  PieceBytes stored = whole.pieces[operand];
  stored.dtype = partial_dtype(whole.op, stored.dtype);

  std::vector<std::byte> bytes(static_cast<std::size_t>(stored.held.elements() * 8) + 8);
  std::optional<Numbers> sum;
  for (const Ranges& ranges : parts) {
    Numbers numbers = partial({whole.graph, whole.op, whole.pieces, ranges});
    std::visit(
        [&](auto& values) {
          const ElementSequence run{
              .first = 0, .step = 1, .count = static_cast<std::int64_t>(values.size())};
          save(values.data(), run, {.data = bytes.data(), .dtype = stored.dtype});
          load(Elements{.data = bytes.data(), .dtype = stored.dtype}, run, values.data());
        },
        numbers);
    if (sum) {
      combine(whole.op, numbers, *sum);
    } else {
      sum = std::move(numbers);
    }
  }
  return std::move(*sum);
}

RowValues told(const KernelCall& whole, const std::vector<Ranges>& parts) {
  RowValues known{.rows = {}, .values = {}, .count = 0};
  for (int round = 0; round < rounds(whole.op); ++round) {
    std::optional<RowValues> state;
    for (const Ranges& ranges : parts) {
      RowValues more = row_state({whole.graph, whole.op, whole.pieces, ranges}, round, known);
      if (state) {
        combine(whole.op, round, more, *state);
      } else {
        state = std::move(more);
      }
    }
    known.rows = state->rows;
    for (std::vector<double>& values : state->values) {
      known.values.push_back(std::move(values));
    }
  }
  return known;
}

/// The results of a tile, in parts along the axes that are not parallel.
void compute_parts(const KernelCall& tile, const std::vector<Ranges>& parts) {
  const std::vector<std::size_t> outs = result_operands(tile.op);
  if (parts.size() == 1) {
    const std::vector<Numbers> numbers = results(tile);
    for (std::size_t i = 0; i < outs.size(); ++i) {
      write(tile, outs[i], numbers[i], tile.pieces[outs[i]]);
    }
  } else if (sums(tile.op)) {
    Numbers numbers = summed(tile, parts);
    finish(tile, numbers);
    write(tile, outs.front(), numbers, tile.pieces[outs.front()]);
  } else {
    const RowValues state = told(tile, parts);
    for (const Ranges& part : parts) {
      const KernelCall piece{tile.graph, tile.op, tile.pieces, part};
      write(piece, outs.front(), row_results(piece, state), tile.pieces[outs.front()]);
    }
  }
}

}  // namespace

ir::DType partial_dtype(const ir::Op& op, ir::DType stored) {
  return ir::bits(op.accumulate) >= ir::bits(stored) ? op.accumulate : stored;
}

void compute_in_tiles(const ir::Graph& graph, const ir::Op& op,
                      const std::vector<PieceBytes>& operands,
                      const std::vector<std::int64_t>& factors) {
  Ranges all;
  std::vector<char> parallel;
  std::vector<char> others;
  for (std::size_t axis = 0; axis < op.axes.size(); ++axis) {
    all.push_back({.begin = 0, .end = op.axes[axis].size});
    const bool independent = op.axes[axis].role == ir::AxisRole::Parallel;
    parallel.push_back(independent ? 1 : 0);
    others.push_back(!independent && partition::divisible(op, static_cast<std::int32_t>(axis)) ? 1
                                                                                               : 0);
  }
  for (const Ranges& ranges : tiles(all, factors, parallel)) {
    compute_parts({graph, op, operands, ranges}, tiles(ranges, factors, others));
  }
}

}  // namespace elk::emulate
