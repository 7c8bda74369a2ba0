#pragma once

#include <cstddef>
#include <cstdint>

namespace elk::sim {

/// A number of a list as a subscript.
[[nodiscard]] constexpr std::size_t subscript(std::int32_t number) {
  return static_cast<std::size_t>(number);
}

}  // namespace elk::sim
