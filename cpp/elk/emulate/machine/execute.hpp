#pragma once

#include "elk/emulate/machine/operands.hpp"

namespace elk::emulate {

/// Runs an op: gathers, distributes, computes and shifts step by step, reduces.
void execute(const Operands& operands);

}  // namespace elk::emulate
