#include "elk/base/units.hpp"

#include <cmath>

#include "elk/base/errors.hpp"

namespace elk {

Picoseconds to_picoseconds(Seconds estimate) {
  constexpr double kLimit = 9.2e18;
  const double picoseconds = std::ceil(estimate.value * 1e12);
  const bool is_time = picoseconds >= 0.0 && picoseconds <= kLimit;  // False for not-a-number.
  if (!is_time) {
    throw InternalError(text("an estimate must be within [0, 9.2e6] s, got ", estimate.value));
  }
  return {static_cast<std::int64_t>(picoseconds)};
}

}  // namespace elk
