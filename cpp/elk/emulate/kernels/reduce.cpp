#include "elk/emulate/kernels/reduce.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/emulate/kernels/functions.hpp"
#include "elk/emulate/kernels/pack.hpp"
#include "elk/emulate/kernels/width.hpp"

namespace elk::emulate {
namespace {

bool is_position(const ir::Op& op) { return name_of(op).substr(0, 3) == "arg"; }

/// How what was made of parts is put together: each has a number that changes nothing.
enum class Combiner : std::uint8_t { Sum, Largest, Least, Product, LogSum };

Combiner joint(const ir::Op& op) {
  const std::string_view name = name_of(op);
  if (name == "max" || name == "maxpool2d" || is_position(op)) {
    return Combiner::Largest;
  }
  if (name == "min") {
    return Combiner::Least;
  }
  if (name == "prod") {
    return Combiner::Product;
  }
  return name == "logsumexp" ? Combiner::LogSum : Combiner::Sum;
}

/// log(exp(x) + exp(y)), without overflow.
double log_sum(double x, double y) {
  const double high = std::fmax(x, y);
  const double low = std::fmin(x, y);
  return std::isinf(high) ? high : high + std::log1p(std::exp(low - high));
}

template <class Wide>
Wide put_together(Combiner how, Wide x, Wide y) {
  switch (how) {
    case Combiner::Sum:
      return static_cast<Wide>(x + y);
    case Combiner::Largest:
      return x > y || x != x ? x : y;  // NOLINT(misc-redundant-expression): NaN
    case Combiner::Least:
      return x < y || x != x ? x : y;  // NOLINT(misc-redundant-expression): NaN
    case Combiner::Product:
      return static_cast<Wide>(x * y);
    case Combiner::LogSum:
      break;
  }
  return static_cast<Wide>(log_sum(static_cast<double>(x), static_cast<double>(y)));
}

/// What one element counts for.
template <class Wide>
Wide term(std::string_view name, Wide x) {
  if (name == "l1") {
    return x < Wide{0} ? static_cast<Wide>(Wide{0} - x) : x;
  }
  return name == "l2" || name == "sqsum" ? static_cast<Wide>(x * x) : x;
}

/// The least element of a type.
template <class Wide>
Wide lowest(ir::DType dtype) {
  if constexpr (std::is_same_v<Wide, double>) {
    return -std::numeric_limits<double>::infinity();
  } else {
    const bool has_sign = dtype == ir::DType::I64 || dtype == ir::DType::I32 ||
                          dtype == ir::DType::I16 || dtype == ir::DType::I8 ||
                          dtype == ir::DType::I4;
    const auto width = static_cast<unsigned>(ir::bits(dtype));
    return has_sign ? static_cast<Wide>(-1) << (width - 1) : Wide{0};
  }
}

/// What a part of a window that lies outside the tensor gives.
template <class Wide>
Wide nothing(const ir::Op& op) {
  switch (joint(op)) {
    case Combiner::Largest:
      return lowest<Wide>(op.accumulate);
    case Combiner::Product:
      return Wide{1};
    case Combiner::Least:
    case Combiner::LogSum:
    case Combiner::Sum:
      break;
  }
  return Wide{0};
}

template <class Wide>
std::vector<Wide> folded_values(const KernelCall& tile) {
  const AxesByRole parts = folded(tile, ir::AxisRole::Reduction);
  const InputValues<Wide> x = pack<Wide>(tile, 0, parts.both);
  const Combiner how = joint(tile.op);
  const std::string_view name = name_of(tile.op);
  const auto inner = static_cast<std::size_t>(parts.over.count());
  std::vector<Wide> result(static_cast<std::size_t>(parts.kept.count()), nothing<Wide>(tile.op));
  for (std::size_t row = 0; row < result.size(); ++row) {
    bool begun = false;
    for (std::size_t i = row * inner; i < (row + 1) * inner; ++i) {
      if (!x.inside.empty() && x.inside[i] == 0) {
        continue;
      }
      const Wide value = term(name, x.value[i]);
      result[row] = begun ? put_together(how, result[row], value) : value;
      begun = true;
    }
  }
  return regrouped(std::move(result), parts.kept, result_points(tile));
}

// ---- positions -----------------------------------------------------------------------------

constexpr std::int64_t kPositions = std::int64_t{1} << 32;

/// A number of 32 bits that is ordered as the elements are: zero for types of 64 bits.
template <class Wide>
std::int64_t ordered(ir::DType dtype, Wide value) {
  if (ir::bits(dtype) > 32) {
    return 0;
  }
  if constexpr (std::is_same_v<Wide, double>) {
    // As a float, whose bits are ordered but for the sign. Negative zero equals zero.
    const auto real = static_cast<float>(value);
    const auto bits = static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(std::abs(real)));
    return real < 0 ? -bits : bits;
  } else {
    return static_cast<std::int64_t>(value) + (dtype == ir::DType::U32 ? -(kPositions / 2) : 0);
  }
}

/// Where each element of the reduced axes stands in the whole of them, as one axis.
std::vector<std::int64_t> positions(const KernelCall& tile, const AxisRanges& over) {
  std::vector<std::int64_t> result{0};
  for (std::size_t i = 0; i < over.axes.size(); ++i) {
    const std::int64_t size = tile.op.axes[over.axes[i]].size;
    std::vector<std::int64_t> next;
    for (const std::int64_t outer : result) {
      for (std::int64_t at = over.ranges[i].begin; at < over.ranges[i].end; ++at) {
        next.push_back((outer * size) + at);
      }
    }
    result = std::move(next);
  }
  return result;
}

/// For each row a key: keys are ordered as the elements, then by who comes first, or last.
template <class Wide>
std::vector<std::int64_t> keys(const KernelCall& tile, ir::DType dtype) {
  const AxesByRole parts = folded(tile, ir::AxisRole::Reduction);
  const InputValues<Wide> x = pack<Wide>(tile, 0, parts.both);
  const std::vector<std::int64_t> at = positions(tile, parts.over);
  const bool least = name_of(tile.op) == "argmin";
  const bool last = tile.op.scalars.front() != 0;
  std::vector<std::int64_t> result(static_cast<std::size_t>(parts.kept.count()));
  for (std::size_t row = 0; row < result.size(); ++row) {
    const Wide* values = x.value.data() + (row * at.size());
    std::size_t best = 0;
    for (std::size_t i = 1; i < at.size(); ++i) {
      const bool better = least ? values[i] < values[best] : values[i] > values[best];
      best = better || (last && values[i] == values[best]) ? i : best;
    }
    const std::int64_t order = ordered(dtype, values[best]);
    const std::int64_t place = last ? at[best] : kPositions - 1 - at[best];
    result[row] = ((least ? -order : order) * kPositions) + place;
  }
  return regrouped(std::move(result), parts.kept, result_points(tile));
}

Numbers position_keys(const KernelCall& tile) {
  OperandId operand{0};
  while (tile.op.operands[operand].input != 0) {
    ++operand;
  }
  const ir::DType dtype = tile.pieces[operand].dtype;
  for (const AxisId axis : tile.ranges.ids()) {
    if (tile.op.axes[axis].role == ir::AxisRole::Reduction && ir::bits(dtype) > 32 &&
        tile.ranges[axis].length() < tile.op.axes[axis].size) {
      throw InvalidInput(text("op '", tile.op.name, "' looks for a position among elements of ",
                              ir::name(dtype), " in parts: only 32 bits can be compared so"),
                         "emulate_kernel");
    }
  }
  if (is_real(dtype)) {
    return keys<double>(tile, dtype);
  }
  return dtype == ir::DType::U64 ? keys<std::uint64_t>(tile, dtype)
                                 : keys<std::int64_t>(tile, dtype);
}

void to_positions(const ir::Op& op, std::vector<std::int64_t>& numbers) {
  const bool last = op.scalars.front() != 0;
  for (std::int64_t& number : numbers) {
    const std::int64_t place = number & (kPositions - 1);
    number = last ? place : kPositions - 1 - place;
  }
}

// ---- finishing -----------------------------------------------------------------------------

/// How many elements of the whole windows lie inside, for each point of the result.
std::vector<double> counts(const KernelCall& tile) {
  Ranges ranges = tile.ranges;
  for (const AxisId axis : ranges.ids()) {
    if (tile.op.axes[axis].role == ir::AxisRole::Reduction) {
      ranges[axis] = {.begin = 0, .end = tile.op.axes[axis].size};
    }
  }
  const AxesByRole parts =
      folded({tile.graph, tile.op, tile.pieces, ranges}, ir::AxisRole::Reduction);
  std::vector<double> result(static_cast<std::size_t>(parts.kept.count()), 0);
  const std::int64_t inner = parts.over.count();
  for (const ir::Operand& operand : tile.op.operands) {
    if (operand.input != 0 || operand.access != ir::Access::Read) {
      continue;
    }
    const ir::Tensor& tensor = tile.graph.tensors[operand.tensor];
    for (const ElementStride& run : touched(operand, whole(tensor), tensor.shape, parts.both)) {
      for (std::int64_t point = run.point; point < run.point + run.count; ++point) {
        result[static_cast<std::size_t>(point / inner)] += 1;
      }
    }
  }
  return regrouped(std::move(result), parts.kept, result_points(tile));
}

template <class Wide>
void scale(std::vector<Wide>& numbers, double factor) {
  for (Wide& number : numbers) {
    number = static_cast<Wide>(static_cast<double>(number) * factor);
  }
}

template <class Wide>
void finish_values(const KernelCall& tile, std::vector<Wide>& numbers) {
  const std::string_view name = name_of(tile.op);
  if (tile.op.kind == ir::OpKind::Pool && !tile.op.scalars.empty() && tile.op.scalars[0] == 0) {
    const std::vector<double> count = counts(tile);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const double inside = std::max(count[i], 1.0);  // The mean of nothing is zero.
      numbers[i] = static_cast<Wide>(static_cast<double>(numbers[i]) / inside);
    }
  } else if (!tile.op.scalars.empty()) {
    scale(numbers, tile.op.scalars[0]);
  }
  for (Wide& number : numbers) {
    if (name == "l2") {
      number = static_cast<Wide>(std::sqrt(static_cast<double>(number)));
    } else if (name == "logsum") {
      number = static_cast<Wide>(std::log(static_cast<double>(number)));
    }
  }
}

}  // namespace

bool has_reduction(const ir::Op& op) {
  static constexpr std::array<std::string_view, 13> kNames{
      "sum",   "max",    "min",    "prod",      "l1",        "l2",       "logsum",
      "sqsum", "argmax", "argmin", "logsumexp", "maxpool2d", "sumpool2d"};
  return std::find(kNames.begin(), kNames.end(), name_of(op)) != kNames.end();
}

Numbers reduced(const KernelCall& tile) {
  if (is_position(tile.op)) {
    return position_keys(tile);
  }
  return with_width(tile, [&](auto wide) { return Numbers(folded_values<decltype(wide)>(tile)); });
}

void combine(const ir::Op& op, const Numbers& more, Numbers& into) {
  const Combiner how = finishes(op) ? joint(op) : Combiner::Sum;
  std::visit(
      [&](auto& sums) {
        const auto& terms = std::get<std::remove_reference_t<decltype(sums)>>(more);
        if (how == Combiner::Sum) {  // A loop that compilers turn into vector code.
          std::transform(sums.begin(), sums.end(), terms.begin(), sums.begin(), std::plus<>());
          return;
        }
        for (std::size_t i = 0; i < sums.size(); ++i) {
          sums[i] = put_together(how, sums[i], terms[i]);
        }
      },
      into);
}

bool finishes(const ir::Op& op) {
  return op.kind == ir::OpKind::Reduce || op.kind == ir::OpKind::Pool;
}

void finish(const KernelCall& tile, Numbers& numbers) {
  if (!finishes(tile.op)) {
    return;
  }
  if (is_position(tile.op)) {
    to_positions(tile.op, std::get<std::vector<std::int64_t>>(numbers));
    return;
  }
  std::visit([&](auto& values) { finish_values(tile, values); }, numbers);
}

}  // namespace elk::emulate
