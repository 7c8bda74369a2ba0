#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "elk/emulate/kernels/kernel_call.hpp"

namespace elk::emulate {

/// One input of a kernel at every point of a call.
template <class Wide>
struct InputValues {
  std::vector<Wide> value;
  std::vector<char> inside;  // where the input has an element; empty: everywhere
};

/// The input number `input` of a node: the operands that make it up, put together. Where it has no
/// element the value is zero.
template <class Wide>
[[nodiscard]] InputValues<Wide> pack(const KernelCall& tile, std::int32_t input,
                                     const AxisRanges& points);

/// An input of a kernel over all points of the tile.
template <class Wide>
[[nodiscard]] InputValues<Wide> pack(const KernelCall& tile, std::int32_t input) {
  return pack<Wide>(tile, input, all_points(tile.ranges));
}

/// The numbers of ONNX inputs that are operands, ascending.
[[nodiscard]] std::vector<std::int32_t> inputs(const ir::Op& op);

/// The axes that any operand of an input depends on.
[[nodiscard]] std::vector<char> axes_of(const ir::Op& op, std::int32_t input);

/// What one operand touches, by the values of its index tensor if it is indirect.
[[nodiscard]] std::vector<ElementStride> touched_by(const KernelCall& tile, std::size_t operand,
                                                    const AxisRanges& points);

/// A call's parts that do not run along axes of one role, and those that do, each in order:
/// `kept` points outside, `over` points inside.
struct AxesByRole {
  AxisRanges kept;
  AxisRanges over;
  AxisRanges both;  // kept first, over innermost
};
[[nodiscard]] AxesByRole folded(const KernelCall& tile, ir::AxisRole role);

/// `values`, over the points `of`, at the points `wanted`, whose axes and ranges are among those.
template <class Wide>
[[nodiscard]] std::vector<Wide> regrouped(std::vector<Wide> values, const AxisRanges& of,
                                          const AxisRanges& wanted);

/// The points of the first result.
[[nodiscard]] AxisRanges result_points(const KernelCall& tile);

}  // namespace elk::emulate
