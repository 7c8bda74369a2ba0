#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "elk/emulate/machine/machine.hpp"

namespace elk::emulate {

/// The chips of a pod, each in the state that the instructions so far left it in.
using ChipStates = std::vector<std::unique_ptr<ChipState>>;

/// Runs a collective: every core takes in its piece, hands it to its port, which exchanges with the
/// ports of the other chips (emulate/machine/link.hpp), and keeps its piece of what its chip is to
/// hold.
void run_collective(const ChipStates& pod, std::int32_t op);

/// Runs an op by which every chip keeps its part of a tensor that it holds whole, from where that
/// rests: what the program moves for it is the first chip's part.
void run_slice(const ChipStates& pod, std::int32_t op);

}  // namespace elk::emulate
