#include "elk/emulate/kernels/elementwise.hpp"

#include <map>
#include <string_view>
#include <type_traits>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/emulate/kernels/functions.hpp"
#include "elk/emulate/kernels/pack.hpp"
#include "elk/emulate/kernels/width.hpp"

namespace elk::emulate {
namespace {

template <class Wide>
const Function<Wide>* find(std::string_view name) {
  if constexpr (std::is_same_v<Wide, double>) {
    return find_real(name);
  } else {
    return find_whole<Wide>(name);
  }
}

/// Operands and constants by the number of the ONNX input, attributes apart.
template <class Wide>
Numbers applied(const KernelCall& tile) {
  const ir::Op& op = tile.op;
  const AxisRanges points = all_points(tile.ranges);
  const std::size_t attributes = op.scalars.size() - op.constants.size();
  std::map<std::int32_t, std::vector<Wide>> by_input;
  for (const std::int32_t input : inputs(op)) {
    by_input[input] = pack<Wide>(tile, input, points).value;
  }
  for (std::size_t i = 0; i < op.constants.size(); ++i) {
    by_input[op.constants[i]] = {static_cast<Wide>(op.scalars[attributes + i])};
  }
  Arguments<Wide> arguments{
      .values = {}, .extra = {}, .count = static_cast<std::size_t>(points.count())};
  for (const auto& [input, values] : by_input) {
    arguments.values.push_back(
        {.data = values.data(), .step = values.size() == arguments.count ? 1 : 0});
  }
  arguments.extra.assign(op.scalars.begin(),
                         op.scalars.begin() + static_cast<std::ptrdiff_t>(attributes));
  std::vector<Wide> result(arguments.count);
  (*find<Wide>(name_of(op)))(arguments, result.data());
  return regrouped(std::move(result), points, result_points(tile));
}

}  // namespace

bool has_function(const ir::Graph& graph, const ir::Op& op) {
  switch (width(graph, op)) {
    case Width::Signed:
      return find<std::int64_t>(name_of(op)) != nullptr;
    case Width::Unsigned:
      return find<std::uint64_t>(name_of(op)) != nullptr;
    case Width::Real:
      break;
  }
  return find<double>(name_of(op)) != nullptr;
}

Numbers elementwise(const KernelCall& tile) {
  return with_width(tile, [&](auto wide) { return applied<decltype(wide)>(tile); });
}

}  // namespace elk::emulate
