#include "elk/emulate/kernels/pack.hpp"

#include <algorithm>
#include <set>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/extent.hpp"

namespace elk::emulate {
namespace {

const ir::Tensor& tensor_of(const KernelCall& tile, OperandId operand) {
  return tile.graph.tensors[tile.op.operands[operand].tensor];
}

/// The operand that reads the index tensor of `operand`.
OperandId index_operand(const KernelCall& tile, OperandId operand) {
  const Table<OperandId, ir::Operand>& operands = tile.op.operands;
  for (const OperandId i : operands.ids()) {
    if (i != operand && operands[i].access == ir::Access::Read &&
        operands[i].tensor == operands[operand].indirect->index) {
      return i;
    }
  }
  throw InternalError(text("op '", tile.op.name, "' does not read its index tensor"));
}

template <class Wide>
void load_runs(const PieceBytes& piece, const std::vector<ElementStride>& runs,
               std::vector<Wide>& out) {
  const Elements elements{.data = piece.bytes, .dtype = piece.dtype};
  for (const ElementStride& run : runs) {
    load(elements, {.first = run.element, .step = run.step, .count = run.count},
         out.data() + run.point);
  }
}

/// Puts the elements of operand `i` where its mask is true.
template <class Wide>
void cover(const KernelCall& tile, OperandId i, const AxisRanges& points,
           std::vector<Wide>& values) {
  std::vector<Wide> over(values.size(), Wide{0});
  std::vector<std::int64_t> mask(values.size(), 0);
  load_runs(tile.pieces[i], touched_by(tile, i, points), over);
  load_runs(tile.pieces[i + 1], touched_by(tile, i + 1, points), mask);
  for (std::size_t point = 0; point < values.size(); ++point) {
    values[point] = mask[point] != 0 ? over[point] : values[point];
  }
}

}  // namespace

std::vector<ElementStride> touched_by(const KernelCall& tile, OperandId operand,
                                      const AxisRanges& points) {
  const ir::Operand& read = tile.op.operands[operand];
  std::vector<std::int64_t> picks;
  if (read.indirect) {
    const OperandId index = index_operand(tile, operand);
    picks.assign(static_cast<std::size_t>(points.count()), 0);
    load_runs(tile.pieces[index], touched_by(tile, index, points), picks);
  }
  return touched(read, tile.pieces[operand].held, tensor_of(tile, operand).shape, points, picks);
}

template <class Wide>
InputValues<Wide> pack(const KernelCall& tile, std::int32_t input, const AxisRanges& points) {
  const auto count = static_cast<std::size_t>(points.count());
  InputValues<Wide> result{.value = std::vector<Wide>(count, Wide{0}), .inside = {}};
  std::size_t seen = 0;
  std::vector<std::vector<ElementStride>> parts;
  for (const OperandId i : tile.op.operands.ids()) {
    const ir::Operand& operand = tile.op.operands[i];
    if (operand.access != ir::Access::Read || operand.input != input) {
      continue;
    }
    if (operand.covers) {
      cover(tile, i, points, result.value);
      continue;
    }
    parts.push_back(touched_by(tile, i, points));
    load_runs(tile.pieces[i], parts.back(), result.value);
    for (const ElementStride& run : parts.back()) {
      seen += static_cast<std::size_t>(run.count);
    }
  }
  if (seen < count) {
    result.inside.assign(count, 0);
    for (const std::vector<ElementStride>& part : parts) {
      for (const ElementStride& run : part) {
        std::fill_n(result.inside.begin() + run.point, run.count, char{1});
      }
    }
  }
  return result;
}

std::vector<std::int32_t> inputs(const ir::Op& op) {
  std::set<std::int32_t> found;
  for (const ir::Operand& operand : op.operands) {
    if (operand.access == ir::Access::Read && operand.input >= 0) {
      found.insert(operand.input);
    }
  }
  return {found.begin(), found.end()};
}

Table<AxisId, char> axes_of(const ir::Op& op, std::int32_t input) {
  Table<AxisId, char> result(op.axes.size(), 0);
  for (const ir::Operand& operand : op.operands) {
    if (operand.access != ir::Access::Read || operand.input != input) {
      continue;
    }
    for (const AxisId axis : result.ids()) {
      if (partition::contains(operand, axis)) {
        result[axis] = 1;
      }
    }
  }
  return result;
}

AxesByRole folded(const KernelCall& tile, ir::AxisRole role) {
  AxesByRole result;
  for (const AxisId axis : tile.op.axes.ids()) {
    AxisRanges& points = tile.op.axes[axis].role == role ? result.over : result.kept;
    points.axes.push_back(axis);
    points.ranges.push_back(tile.ranges[axis]);
  }
  result.both = result.kept;
  result.both.axes.insert(result.both.axes.end(), result.over.axes.begin(), result.over.axes.end());
  result.both.ranges.insert(result.both.ranges.end(), result.over.ranges.begin(),
                            result.over.ranges.end());
  return result;
}

template <class Wide>
std::vector<Wide> regrouped(std::vector<Wide> values, const AxisRanges& of,
                            const AxisRanges& wanted) {
  if (wanted.axes == of.axes && wanted.ranges == of.ranges) {
    return values;
  }
  std::vector<std::int64_t> stride(wanted.axes.size(), 0);
  std::int64_t from = 0;
  std::int64_t step = 1;
  for (std::size_t i = of.axes.size(); i-- > 0;) {
    const auto at = std::find(wanted.axes.begin(), wanted.axes.end(), of.axes[i]);
    if (at != wanted.axes.end()) {
      const auto place = static_cast<std::size_t>(at - wanted.axes.begin());
      stride[place] = step;
      from += step * (wanted.ranges[place].begin - of.ranges[i].begin);
    }
    step *= of.ranges[i].length();
  }
  std::vector<Wide> result(static_cast<std::size_t>(wanted.count()));
  std::vector<std::int64_t> digit(wanted.axes.size(), 0);
  for (Wide& value : result) {
    value = values[static_cast<std::size_t>(from)];
    for (std::size_t i = digit.size(); i-- > 0;) {
      from += stride[i];
      if (++digit[i] < wanted.ranges[i].length()) {
        break;
      }
      from -= stride[i] * digit[i];
      digit[i] = 0;
    }
  }
  return result;
}

AxisRanges result_points(const KernelCall& tile) {
  return points_of(tile.op.operands[result_operands(tile.op).front()], tile.ranges);
}

std::vector<OperandId> result_operands(const ir::Op& op) {
  std::vector<OperandId> result;
  for (const OperandId i : op.operands.ids()) {
    if (op.operands[i].access == ir::Access::Write) {
      result.push_back(i);
    }
  }
  return result;
}

void write(const KernelCall& tile, OperandId operand, const Numbers& numbers,
           const PieceBytes& piece) {
  const ir::Operand& result = tile.op.operands[operand];
  const AxisRanges points = points_of(result, tile.ranges);
  const MutableElements to{.data = piece.bytes, .dtype = piece.dtype};
  const std::vector<ElementStride> runs =
      touched(result, piece.held, tensor_of(tile, operand).shape, points);
  std::visit(
      [&](const auto& values) {
        for (const ElementStride& run : runs) {
          save(values.data() + run.point,
               {.first = run.element, .step = run.step, .count = run.count}, to);
        }
      },
      numbers);
}

Numbers read(const KernelCall& tile, OperandId operand, const PieceBytes& piece) {
  const ir::Operand& result = tile.op.operands[operand];
  const AxisRanges points = points_of(result, tile.ranges);
  const auto count = static_cast<std::size_t>(points.count());
  const std::vector<ElementStride> runs =
      touched(result, piece.held, tensor_of(tile, operand).shape, points);
  return with_numbers(piece.dtype, count, [&](auto& values) { load_runs(piece, runs, values); });
}

template InputValues<double> pack(const KernelCall& tile, std::int32_t input,
                                  const AxisRanges& points);
template InputValues<float> pack(const KernelCall& tile, std::int32_t input,
                                 const AxisRanges& points);
template InputValues<std::int64_t> pack(const KernelCall& tile, std::int32_t input,
                                        const AxisRanges& points);
template InputValues<std::uint64_t> pack(const KernelCall& tile, std::int32_t input,
                                         const AxisRanges& points);
template std::vector<double> regrouped(std::vector<double> values, const AxisRanges& of,
                                       const AxisRanges& wanted);
template std::vector<float> regrouped(std::vector<float> values, const AxisRanges& of,
                                      const AxisRanges& wanted);
template std::vector<std::int64_t> regrouped(std::vector<std::int64_t> values, const AxisRanges& of,
                                             const AxisRanges& wanted);
template std::vector<std::uint64_t> regrouped(std::vector<std::uint64_t> values,
                                              const AxisRanges& of, const AxisRanges& wanted);

}  // namespace elk::emulate
