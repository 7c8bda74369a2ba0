#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/program/code/code.hpp"

namespace elk::program {

/// Whether nobody asks for a result any more.
using Unwanted = std::function<bool()>;

/// Gives every buffer an offset, a multiple of 8, so that none overlap in address and lifetime and
/// all end within `room`. Empty if this placement found none, and the schedule must change; or if
/// it is not wanted any more, which it asks between its attempts.
[[nodiscard]] std::optional<std::vector<Buffer>> place(std::vector<Buffer> buffers, Bytes room,
                                                       const Unwanted& unwanted = {});

}  // namespace elk::program
