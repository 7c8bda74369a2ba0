#pragma once

#include "elk/sim/record/flat_recording.hpp"

namespace elk::sim {

/// Throws InvalidInput for columns that contradict each other, or that hold what no player could
/// play in whole picoseconds and 128 bits.
void validate(const FlatRecording& flat);

}  // namespace elk::sim
