#include "elk/tile/times.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/converted_inputs.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/plan.hpp"

namespace elk::tile {
namespace {

TileShape blank() {
  TileShape result{.size = {}, .params = {0, 0}};
  result.size.fill(1);
  return result;
}

std::int64_t& extent(TileShape& shape, ir::TileDim dim) {
  return shape.size[static_cast<std::size_t>(dim)];
}

/// The dtype of `bits` that copies are timed in.
ir::DType copied_as(std::int64_t bits) { return bits > 16 ? ir::DType::F32 : ir::DType::F16; }

/// The operands that are read as an input.
std::vector<OperandId> reads_of(const ir::Op& op, std::int32_t input) {
  std::vector<OperandId> result;
  for (const OperandId i : op.operands.ids()) {
    if (op.operands[i].access == ir::Access::Read && op.operands[i].input == input) {
      result.push_back(i);
    }
  }
  return result;
}

bool any_contains(const ir::Op& op, const std::vector<OperandId>& operands, AxisId axis) {
  return std::ranges::any_of(
      operands, [&](OperandId i) { return partition::contains(op.operands[i], axis); });
}

}  // namespace

TileTimes::TileTimes(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
                     const TileModel& tiles)
    : graph_(graph),
      op_(op),
      tiles_(tiles),
      clock_(chip.core.clock_hz),
      kernel_(tiles.find(op.function, op.compute, op.accumulate)),
      add_(tiles.find("partials_reduce", op.accumulate, op.accumulate)),
      scale_(add_),
      sum_(add_),
      opaque_(tiles.source(kernel_) == "opaque"),
      asks_(tiles.asks()) {
  int bits = 0;
  for (const ir::Axis& axis : op.axes) {
    whole_.push_back(axis.size);
    key_bits_.push_back(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(axis.size))));
    bits += key_bits_.back();
  }
  if (bits > 64) {
    key_bits_.clear();
  }
  for (const ir::ConvertedInput& one : ir::converted_inputs(graph, op)) {
    converting_.push_back(converting(one));
  }
  for (const ir::DType dtype : {ir::DType::F16, ir::DType::F32}) {
    copies_.emplace_back(ir::bits(dtype), tiles.find("slice_copy", dtype, dtype));
  }
}

TileTimes::Converting TileTimes::converting(const ir::ConvertedInput& input) {
  Converting calls{.operands = reads_of(op_, input.input),
                   .kernels = {},
                   .scales = input.has_scale,
                   .blocks = {},
                   .others = reads_of(op_, 1 - input.input)};
  const std::vector<OperandId> scales = reads_of(op_, ir::scale_input(input.input));
  for (const AxisId axis : op_.axes.ids()) {
    if (op_.axes[axis].size == 1 || !any_contains(op_, scales, axis)) {
      continue;
    }
    if (op_.axes[axis].role == ir::AxisRole::Reduction) {
      calls.blocks.push_back(axis);
    }
    if (!any_contains(op_, calls.others, axis)) {
      calls.others.clear();
    }
  }
  const ir::DType compute = op_.compute;
  if (input.stored != compute) {
    calls.kernels.push_back(tiles_.find("cast", input.stored, compute));
  }
  if (input.has_zero) {
    calls.kernels.push_back(tiles_.find("sub", compute, compute));
  }
  if (input.has_scale) {
    scale_ = tiles_.find("mul", compute, compute);
    sum_ = tiles_.find("add", compute, compute);
  }
  return calls;
}

TileShape TileTimes::shape(TableView<AxisId, const std::int64_t> size) const {
  TileShape result = blank();
  for (const AxisId axis : size.ids()) {
    if (op_.axes[axis].tile_dim != ir::TileDim::None) {
      extent(result, op_.axes[axis].tile_dim) *= size[axis];
    }
  }
  for (std::size_t i = 0; i < std::min(result.params.size(), op_.params.size()); ++i) {
    result.params[i] = op_.params[i];
  }
  if (opaque_) {  // An opaque rule asks for the bytes of the call, not of the op.
    result.params[0] = 0;
    for (const ir::Operand& operand : op_.operands) {
      const ir::Tensor& tensor = graph_.tensors[operand.tensor];
      result.params[0] +=
          partition::element_bytes(partition::box(tensor, operand, whole_, size).elements,
                                   ir::bits(tensor.dtype))
              .value;
    }
  }
  return result;
}

double TileTimes::timed(TableView<AxisId, const std::int64_t> size) const {
  double time = seconds(kernel_, shape(size));
  for (const Converting& calls : converting_) {
    time += converted(calls, size);
  }
  return time;
}

double TileTimes::converted(const Converting& calls,
                            TableView<AxisId, const std::int64_t> size) const {
  const auto over = [&](Kernel kernel, std::int64_t elements) {
    TileShape call = blank();
    extent(call, ir::TileDim::Elements) = elements;
    return seconds(kernel, call);
  };
  const auto elements = [&](const std::vector<OperandId>& operands) {
    std::int64_t count = 0;
    for (const OperandId i : operands) {
      const ir::Operand& operand = op_.operands[i];
      count += partition::box(graph_.tensors[operand.tensor], operand, whole_, size).elements;
    }
    return count;
  };
  const std::int64_t stored = elements(calls.operands);
  double time = 0.0;
  for (const Kernel kernel : calls.kernels) {
    time += over(kernel, stored);
  }
  if (!calls.scales) {
    return time;
  }
  // A scale multiplies these elements, those of the other input, or the sums of each block.
  double scaling = over(scale_, stored);
  if (!calls.others.empty()) {
    scaling = std::min(scaling, over(scale_, elements(calls.others)));
  }
  std::int64_t sums = 1;
  for (const AxisId axis : size.ids()) {
    const bool counts = op_.axes[axis].role == ir::AxisRole::Parallel ||
                        std::ranges::find(calls.blocks, axis) != calls.blocks.end();
    sums *= counts ? size[axis] : 1;
  }
  const bool joins = std::ranges::any_of(calls.blocks, [&](AxisId axis) { return size[axis] > 1; });
  const double added = joins ? over(sum_, sums) : 0.0;
  return time + std::min(scaling, over(scale_, sums) + added);
}

double TileTimes::sub_task(TableView<AxisId, const std::int64_t> size) {
  if (key_bits_.empty()) {
    return timed(size);
  }
  std::uint64_t key = 0;
  for (const AxisId axis : size.ids()) {
    key = (key << static_cast<unsigned>(key_bits_[axis])) | static_cast<std::uint64_t>(size[axis]);
  }
  if (const double* known = asks_ ? asked_.find(key) : sub_tasks_.find(key)) {
    return *known;
  }
  const double time = timed(size);
  if (asks_) {
    asked_.put(key, time);
  } else {
    sub_tasks_.put(key, time);
  }
  return time;
}

bool TileTimes::extrapolated(TableView<AxisId, const std::int64_t> size) const {
  return tiles_.extrapolated(kernel_, shape(size));
}

double TileTimes::add(std::int64_t parts, std::int64_t elements) {
  const std::uint64_t key =
      (static_cast<std::uint64_t>(parts) << 40U) | static_cast<std::uint64_t>(elements);
  if (const double* known = adds_.find(key)) {
    return *known;
  }
  TileShape call = blank();
  extent(call, ir::TileDim::Rows) = parts;
  extent(call, ir::TileDim::Cols) = elements;
  const double time = seconds(add_, call);
  adds_.put(key, time);
  return time;
}

double TileTimes::copy(std::int64_t slices, std::int64_t elements, std::int64_t bits) {
  const ir::DType dtype = copied_as(bits);
  const std::int64_t scaled = ceil_div(elements * bits, ir::bits(dtype));
  const std::uint64_t key = (static_cast<std::uint64_t>(slices) << 36U) |
                            (static_cast<std::uint64_t>(scaled) << 1U) |
                            (dtype == ir::DType::F32 ? 1U : 0U);
  if (const double* known = copied_.find(key)) {
    return *known;
  }
  TileShape call = blank();
  extent(call, ir::TileDim::Slices) = slices;
  extent(call, ir::TileDim::SliceElements) = scaled;
  const double time = seconds(copies_[dtype == ir::DType::F16 ? 0 : 1].second, call);
  copied_.put(key, time);
  return time;
}

}  // namespace elk::tile
