#pragma once

#include <optional>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/program/code.hpp"

namespace elk::program {

/// Gives every buffer an offset, a multiple of 8, so that none overlap in address and lifetime and
/// all end within `room`. Empty if this placement found none: the schedule must change.
[[nodiscard]] std::optional<std::vector<Buffer>> place(std::vector<Buffer> buffers, Bytes room);

}  // namespace elk::program
