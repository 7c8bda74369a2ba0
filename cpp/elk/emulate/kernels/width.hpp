#pragma once

#include <cstdint>

#include "elk/emulate/kernels/kernel_call.hpp"

namespace elk::emulate {

/// The type of numbers that an op computes with.
enum class Width : std::uint8_t { Real, Signed, Unsigned };

/// Real if any value or result is, then unsigned if any is of 64 bits without a sign.
[[nodiscard]] Width width(const ir::Graph& graph, const ir::Op& op);

/// Calls `visit` with a number of the type that the op computes with.
template <class Visit>
auto with_width(const KernelCall& tile, const Visit& visit) {
  switch (width(tile.graph, tile.op)) {
    case Width::Signed:
      return visit(std::int64_t{});
    case Width::Unsigned:
      return visit(std::uint64_t{});
    case Width::Real:
      break;
  }
  return visit(double{});
}

}  // namespace elk::emulate
