#pragma once

#include "elk/sim/play/demand.hpp"

namespace elk::sim {

/// Two exchanges at the same time: a resource that both load carries the bytes of both.
[[nodiscard]] Demand together(const Demand& a, const Demand& b);

}  // namespace elk::sim
