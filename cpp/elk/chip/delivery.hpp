#pragma once

#include <string>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"

namespace elk::chip {

/// For each HBM module, the cores of one chip through whose nodes it injects, each over one link.
/// Modules at the edges share them evenly, clockwise from the corner of core 0 (EdgesLeftRight:
/// left column, then right), all those behind a place of rows and columns together; modules at
/// nodes sit in the middle of equal parts of the grid or ring. Empty on all-to-all, where a module
/// has a node of its own, and without HBM.
[[nodiscard]] std::vector<std::vector<CoreId>> attached_cores(const Chip& chip);

/// What HBM data meets on its way to the cores of one chip. Without a limit: infinity.
struct Delivery {
  BytesPerSecond hbm;        // peak of the modules, capped by ports and outstanding bytes
  BytesPerSecond injection;  // one link of each node that a module is attached to
  BytesPerSecond edge_cut;   // links from those nodes to others, over the share of the data that
                             // goes to others when it is spread evenly
  BytesPerSecond crossing;   // straight cuts through a grid between modules, wherever the data of
                             // either side are needed (`chip/link_throughput.hpp`)
  BytesPerSecond receive;    // receive ports of all cores, on all-to-all
  BytesPerSecond bisection;  // from one half of the cores to the other; met by data of one half
                             // that the other needs, not by data spread evenly
  BytesPerSecond rate;       // the smallest of the first five: no preload is faster
  std::string bound_by;  // which of them: "hbm", "injection", "edge_cut", "crossing" or "receive"
};

/// The limits of preloads. Throws InvalidInput if the chip has no HBM.
[[nodiscard]] Delivery delivery(const Chip& chip);

/// Bytes a second that a core can receive from other chips beside what comes over links of its own
/// chip. On grids what many cores of a chip need crosses between chips once, and port cores take it
/// in.
[[nodiscard]] double receiving_between(const Chip& chip);

/// Seconds to read `bytes` that lie striped over all channels of one chip:
///
///     t = L + x / B + n S
///
/// where x is `bytes`, B is the peak rate, each channel capped by `outstanding / latency`, and S is
/// the stall of a refresh. After the HBM was `idle`, L is its latency and n the number of refresh
/// boundaries passed, the first one interval after the start. Otherwise L is 0, for the requests
/// are in flight already, and n is the mean number over all phases. Throws InvalidInput without
/// HBM.
[[nodiscard]] Seconds hbm_time(const Chip& chip, double bytes, bool idle);

}  // namespace elk::chip
