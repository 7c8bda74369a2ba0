#pragma once

#include <cstddef>
#include <cstdint>

namespace elk::train {

/// An id as a position in a table.
[[nodiscard]] constexpr std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace elk::train
