#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/intervals.hpp"
#include "elk/chip/chip.hpp"
#include "elk/sim/play/trace.hpp"

namespace elk::sim {

/// A port, a link or a memory of a recorded machine; of fidelity `Symmetric` the busiest for a
/// purpose, which stands for all.
struct RecordedResource {
  Purpose purpose;
  std::int32_t from;   // a core, chip or module; -1: none
  std::int32_t to;     // a core, node or link; -1: none
  std::int64_t count;  // for how many it stands
  Rate rate;           // of a memory times `kHbmWeight`

  friend bool operator==(const RecordedResource&, const RecordedResource&) = default;
};

/// Resources that everything in a trace loads alike, by their place in what demands tell apart.
using ResourceClassId = Id<struct ResourceClassKind>;

/// A trace whose demands tell apart only resources that something in it loads differently. Playing
/// it takes no other time, to the picosecond, than with all of them told apart.
struct Recording {
  Trace trace;
  std::vector<RecordedResource> resources;
  std::vector<ResourceClassId> class_of;  // of every resource, the one that demands mean
};

/// Puts resources together that everything in a trace loads alike.
[[nodiscard]] Recording fold(Trace trace, const chip::Chip& chip);

/// A recording on a machine whose resources run at `speeds` of theirs, above 0. Throws InvalidInput
/// for another number of them.
[[nodiscard]] Recording at_speeds(const Recording& recording, std::span<const double> speeds);

/// The instructions of a recording from `steps.begin` up to `steps.end`, as they ran. Throws
/// InvalidInput for a range that holds none of them.
[[nodiscard]] Recording window(const Recording& recording, Interval<std::size_t> steps);

}  // namespace elk::sim
