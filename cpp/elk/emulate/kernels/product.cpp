#include "elk/emulate/kernels/product.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <Eigen/Core>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/emulate/kernels/dense.hpp"
#include "elk/emulate/kernels/pack.hpp"
#include "elk/ir/converted_inputs.hpp"

namespace elk::emulate {
namespace {

/// The axes of a product: matrices of their own, rows, columns, and what is summed over.
struct Roles {
  AxisRanges group;
  AxisRanges m;
  AxisRanges n;
  AxisRanges k;
};

void add(AxisRanges& points, AxisId axis, const partition::IndexRange& range) {
  points.axes.push_back(axis);
  points.ranges.push_back(range);
}

Roles roles(const KernelCall& tile) {
  Roles result;
  const Table<AxisId, char> in_a = axes_of(tile.op, 0);
  const Table<AxisId, char> in_b = axes_of(tile.op, 1);
  for (const AxisId axis : tile.ranges.ids()) {
    const bool summed = tile.op.axes[axis].role == ir::AxisRole::Reduction;
    const bool of_one = in_a[axis] != in_b[axis];
    AxisRanges& apart = in_a[axis] != 0 ? result.m : result.n;
    AxisRanges& kept = of_one ? apart : result.group;
    add(summed ? result.k : kept, axis, tile.ranges[axis]);
  }
  return result;
}

AxisRanges joined(const std::vector<const AxisRanges*>& parts) {
  AxisRanges result;
  for (const AxisRanges* part : parts) {
    result.axes.insert(result.axes.end(), part->axes.begin(), part->axes.end());
    result.ranges.insert(result.ranges.end(), part->ranges.begin(), part->ranges.end());
  }
  return result;
}

/// The numbers of a product besides its operands. What converts inputs is not among them.
struct Scalars {
  double zero_a = 0;
  double zero_b = 0;
  double alpha = 1;
  double beta = 1;
  double bias = 0;
};

Scalars scalars_of(const ir::Op& op) {
  Scalars result;
  auto next = op.scalars.begin();
  if (op.onnx_type.starts_with("Integer")) {
    result.zero_a = *next++;
    result.zero_b = *next++;
  }
  if (op.onnx_type == "Gemm") {
    result.alpha = *next++;
    result.beta = *next++;
  }
  const auto constants = static_cast<std::ptrdiff_t>(op.constants.size());
  result.bias = op.scalars.end() - next <= constants ? 0 : *next;
  return result;
}

/// The elements of an input where they lie in a core's memory, if that is the order of `points` and
/// they are numbers of type Wide; else null.
template <class Wide>
const Wide* in_place(const KernelCall& tile, std::int32_t input, const AxisRanges& points) {
  const auto reads = [&](const ir::Operand& operand) {
    return operand.access == ir::Access::Read && operand.input == input;
  };
  const Table<OperandId, ir::Operand>& operands = tile.op.operands;
  const auto first = std::find_if(operands.begin(), operands.end(), reads);
  if (first == operands.end() || std::any_of(first + 1, operands.end(), reads)) {
    return nullptr;
  }
  const auto k = id_at<OperandId>(first - operands.begin());
  const PieceBytes& piece = tile.pieces[k];
  if (!is_stored_as<Wide>(piece.dtype) || piece.bytes == nullptr) {
    return nullptr;
  }
  const std::vector<ElementStride> runs = touched_by(tile, k, points);
  if (runs.size() != 1 || runs[0].step != 1 || runs[0].count != points.count()) {
    return nullptr;
  }
  const auto* found = reinterpret_cast<const Wide*>(piece.bytes) + runs[0].element;
  return reinterpret_cast<std::uintptr_t>(found) % alignof(Wide) == 0 ? found : nullptr;
}

/// What an input holds at `points`, or the constant that stands for it.
template <class Wide>
std::vector<Wide> numbers_of(const KernelCall& tile, std::int32_t input, const AxisRanges& points) {
  const ir::Op& op = tile.op;
  const auto found = std::find(op.constants.begin(), op.constants.end(), input);
  if (found == op.constants.end()) {
    return pack<Wide>(tile, input, points).value;
  }
  const double number = op.scalars.end()[found - op.constants.end()];
  return std::vector<Wide>(static_cast<std::size_t>(points.count()), static_cast<Wide>(number));
}

/// Brings the elements of an input from their stored type into that of the op: takes the zero off,
/// multiplies by the scale, and rounds. What is outside of the input stays zero.
template <class Wide>
void convert(const KernelCall& tile, const ir::ConvertedInput& how, const AxisRanges& points,
             InputValues<Wide>& values) {
  const std::size_t count = values.value.size();
  const std::vector<Wide> zero = how.has_zero
                                     ? numbers_of<Wide>(tile, ir::zero_input(how.input), points)
                                     : std::vector<Wide>(count, Wide{0});
  const std::vector<Wide> scale = how.has_scale
                                      ? numbers_of<Wide>(tile, ir::scale_input(how.input), points)
                                      : std::vector<Wide>(count, Wide{1});
  for (std::size_t i = 0; i < count; ++i) {
    if (values.inside.empty() || values.inside[i] != 0) {
      values.value[i] = (values.value[i] - zero[i]) * scale[i];
    }
  }
  std::vector<std::byte> bytes((count * 8) + 8);
  const ElementSequence all{.first = 0, .step = 1, .count = static_cast<std::int64_t>(count)};
  save(values.value.data(), all, {.data = bytes.data(), .dtype = tile.op.compute});
  load(Elements{.data = bytes.data(), .dtype = tile.op.compute}, all, values.value.data());
}

/// The elements of a factor, in order.
template <class Wide>
class Factor {
 public:
  /// With `zero`, its zero point, taken off where it has elements.
  Factor(const KernelCall& tile, std::int32_t input, const AxisRanges& points, double zero) {
    const std::vector<ir::ConvertedInput> all = ir::converted_inputs(tile.graph, tile.op);
    const auto how = std::ranges::find(all, input, &ir::ConvertedInput::input);
    if (zero == 0 && how == all.end()) {
      data_ = in_place<Wide>(tile, input, points);
    }
    if (data_ != nullptr) {
      return;
    }
    InputValues<Wide> packed = pack<Wide>(tile, input, points);
    for (std::size_t i = 0; zero != 0 && i < packed.value.size(); ++i) {
      if (packed.inside.empty() || packed.inside[i] != 0) {
        packed.value[i] -= static_cast<Wide>(zero);
      }
    }
    if (how != all.end()) {
      convert(tile, *how, points, packed);
    }
    packed_ = std::move(packed.value);
    data_ = packed_.data();
  }

  [[nodiscard]] const Wide* data() const { return data_; }

 private:
  std::vector<Wide> packed_;
  const Wide* data_ = nullptr;
};

/// Whether the last dimension of input 1 is a column: then its rows are contiguous.
bool columns_last(const KernelCall& tile, const AxisRanges& n) {
  for (const ir::Operand& operand : tile.op.operands) {
    if (operand.access == ir::Access::Read && operand.input == 1 && !operand.dims.empty()) {
      for (const AxisId axis : operand.dims.back().axes) {
        return std::find(n.axes.begin(), n.axes.end(), axis) != n.axes.end();
      }
    }
  }
  return false;
}

/// Sizes of a product, and how its right factor lies: row by row, or column by column.
struct ProductSizes {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  bool by_rows;
};

template <class Wide>
void multiply_group(const Wide* a, const Wide* b, const ProductSizes& sizes, Wide* c) {
  using RowMajor = Eigen::Matrix<Wide, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using ColMajor = Eigen::Matrix<Wide, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;
  const auto& [m, n, k, by_rows] = sizes;
  if constexpr (std::is_same_v<Wide, float>) {
    RowMajor turned;
    if (!by_rows) {
      turned = Eigen::Map<const ColMajor>(b, k, n);
    }
    multiply({.left = a, .right = by_rows ? b : turned.data(), .out = c, .m = m, .n = n, .k = k});
  } else {
    const Eigen::Map<const RowMajor> left(a, m, k);
    Eigen::Map<RowMajor> out(c, m, n);
    if (by_rows) {
      out.noalias() = left * Eigen::Map<const RowMajor>(b, k, n);
    } else {
      out.noalias() = left * Eigen::Map<const ColMajor>(b, k, n);
    }
  }
}

template <class Wide>
std::vector<Wide> products(const KernelCall& tile, const Roles& axes, const Scalars& scalars) {
  const bool by_rows = columns_last(tile, axes.n);
  const Factor<Wide> a(tile, 0, joined({&axes.group, &axes.m, &axes.k}), scalars.zero_a);
  const Factor<Wide> b(
      tile, 1,
      by_rows ? joined({&axes.group, &axes.k, &axes.n}) : joined({&axes.group, &axes.n, &axes.k}),
      scalars.zero_b);
  const ProductSizes sizes{
      .m = axes.m.count(), .n = axes.n.count(), .k = axes.k.count(), .by_rows = by_rows};
  std::vector<Wide> c(static_cast<std::size_t>(axes.group.count() * sizes.m * sizes.n));
  for (std::int64_t group = 0; group < axes.group.count(); ++group) {
    multiply_group(a.data() + (group * sizes.m * sizes.k), b.data() + (group * sizes.k * sizes.n),
                   sizes, c.data() + (group * sizes.m * sizes.n));
  }
  return c;
}

bool begins_sum(const Roles& axes) {
  return std::all_of(axes.k.ranges.begin(), axes.k.ranges.end(),
                     [](const partition::IndexRange& range) { return range.begin == 0; });
}

/// The product with alpha, and with beta and bias where the sum begins, in numbers of type Out.
template <class Wide, class Out>
std::vector<Out> biased(const KernelCall& tile) {
  const Roles axes = roles(tile);
  const Scalars scalars = scalars_of(tile.op);
  const AxisRanges points = result_points(tile);
  const std::vector<Wide> sums = regrouped(products<Wide>(tile, axes, scalars),
                                           joined({&axes.group, &axes.m, &axes.n}), points);
  std::vector<Out> result(sums.begin(), sums.end());
  const auto alpha = static_cast<Out>(scalars.alpha);
  if (alpha != Out{1}) {
    for (Out& value : result) {
      value *= alpha;
    }
  }
  const std::vector<std::int32_t> given = inputs(tile.op);
  const bool has_bias = std::find(given.begin(), given.end(), 2) != given.end();
  if (!begins_sum(axes) || (!has_bias && scalars.bias == 0)) {
    return result;
  }
  std::vector<Out> bias(has_bias ? 0 : result.size(), static_cast<Out>(scalars.bias));
  if (has_bias) {
    bias = pack<Out>(tile, 2, points).value;
  }
  const auto beta = static_cast<Out>(scalars.beta);
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] += beta * bias[i];
  }
  return result;
}

}  // namespace

Numbers product(const KernelCall& tile) {
  const ir::DType accumulate = tile.op.accumulate;
  if (accumulate == ir::DType::F64) {
    return biased<double, double>(tile);
  }
  if (is_real(accumulate)) {
    return biased<float, double>(tile);
  }
  if (accumulate == ir::DType::U64) {
    return biased<std::uint64_t, std::uint64_t>(tile);
  }
  return biased<std::int64_t, std::int64_t>(tile);
}

}  // namespace elk::emulate
